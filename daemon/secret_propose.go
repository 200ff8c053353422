package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/garita-dev/garita/daemon/api"
	"github.com/garita-dev/garita/daemon/clientconfig"
	"github.com/garita-dev/garita/daemon/config"
	"github.com/garita-dev/garita/sandbox"
)

// ProposeGrant implements httpapi.Backend: the grant as it would be, completed by what is known of its server.
func (d *Daemon) ProposeGrant(_ context.Context, name string, g api.SecretGrant) (api.SecretGrant, error) {
	if _, err := sandbox.ParseSecretName(name); err != nil {
		return api.SecretGrant{}, invalidGrant(fmt.Sprint(err), "garita secret list")
	}
	s, err := d.configured(g.Server)
	if err != nil {
		return api.SecretGrant{}, err
	}
	grant, err := grantFrom(name, g, s.Source)
	if err != nil {
		return api.SecretGrant{}, invalidGrant(fmt.Sprint(err), "garita secret grant --help")
	}
	profile := ""
	if p := profiles().Of(s.Source, d.config.Package(s.Name)); p != nil {
		profile = p.Name
	}
	grant = clientconfig.Propose(grant, s, profile)
	if why, next := lacking(grant, s); why != "" {
		proposed := apiGrantOf(s.Name, grant, time.Now())
		proposed.Lacks = invalidGrant(why, next)
		return proposed, nil
	}
	if grant, err = config.CheckSecret(grant, s); err != nil {
		return api.SecretGrant{}, invalidGrant(err.Error(), "garita secret grant --help")
	}
	return apiGrantOf(s.Name, grant, time.Now()), nil
}

// lacking says what a grant lacks, and shows a whole one.
func lacking(g sandbox.SecretGrant, s sandbox.Server) (why, next string) {
	example := fmt.Sprintf("garita secret grant %s %s --env VARIABLE --host HOST", g.Secret, s.Name)
	switch {
	case s.Source.External():
		return "", ""
	case g.Where() == "" && g.Weaker():
		return fmt.Sprintf("It is not known in which variable %s looks for it.", s.Name), fmt.Sprintf("garita secret grant %s %s --mode %s --env VARIABLE", g.Secret, s.Name, g.Mode)
	case g.Where() == "":
		return fmt.Sprintf("It is not known in which variable %s looks for it, and to which host it is sent.", s.Name), example
	case g.Mode == sandbox.SecretPlaceholder && len(g.Hosts) == 0:
		where := "--env " + g.Env
		switch {
		case g.File != "":
			where = "--file " + g.File
		case g.Arg != "":
			where = "--arg=" + g.Arg
		}
		return fmt.Sprintf("It is not known to which host %s sends it.", s.Name),
			fmt.Sprintf("garita secret grant %s %s %s --host HOST (or, where it cannot work with a placeholder, --mode env)", g.Secret, s.Name, where)
	}
	return "", ""
}

func invalidGrant(why, next string) *api.Problem {
	return &api.Problem{Code: "invalid", Title: "The grant is not complete", Detail: why, Next: next}
}
