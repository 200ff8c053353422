package config

// Results says what becomes of what servers return.
type Results struct {
	// Limit is how much of one tool's result is passed on, in bytes; 0 is no limit. A longer one is
	// kept for the person, and its beginning is passed on.
	Limit int64
	// Kept is how much of such results is kept, in bytes; the oldest go first. 0 keeps none.
	Kept int64
	// Spotlight frames the texts of results, so that a model can tell them from what the person says.
	Spotlight bool
}

// The bounds where config.yaml says nothing.
const (
	resultsLimit = 16 << 20
	resultsKept  = 256 << 20
	// leastResult is the smallest limit, in bytes: an error in words must fit.
	leastResult = 16 << 10
)

type resultsFile struct {
	Limit     string `yaml:"limit"`
	Kept      string `yaml:"kept"`
	Spotlight *bool  `yaml:"spotlight"`
}

// over sets what the file says in r. On an error key is where it says so.
func (f resultsFile) over(r *Results) (key []string, err error) {
	set(&r.Spotlight, f.Spotlight)
	if err := setSize(&r.Limit, f.Limit, leastResult); err != nil {
		return []string{"results", "limit"}, err
	}
	if err := setSize(&r.Kept, f.Kept, leastResult); err != nil {
		return []string{"results", "kept"}, err
	}
	return nil, nil
}
