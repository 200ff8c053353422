package main

// style colors words, on terminals only. A color never says anything that the word does not.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string  { return s.paint("1", text) }
func (s style) dim(text string) string   { return s.paint("2", text) }
func (s style) red(text string) string   { return s.paint("31", text) }
func (s style) green(text string) string { return s.paint("32", text) }
func (s style) amber(text string) string { return s.paint("33", text) }
func (s style) blue(text string) string  { return s.paint("34", text) }

// word colors a state by what it means: allowed, refused, or somebody waits.
func (s style) word(text string) string {
	switch text {
	case "ok", "ready", "done", "approved", "allow", "added":
		return s.green(text)
	case "fail", "failed", "denied", "deny", "refused", "withheld", "deleted":
		return s.red(text)
	case "warn", "waiting", "pending", "unknown", "expired", "withdrawn", "modified":
		return s.amber(text)
	default:
		return text
	}
}
