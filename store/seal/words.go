package seal

const (
	byKeyring = "keyring"
	byFile    = "file"
)

const (
	makeFile = "garita secret unlock --create keeps the key in a file that a passphrase encrypts."
	giveUp   = "Put the keyring back as it was, or give up what cannot be opened any more: garita secret unlock --reset. The secrets are then set anew."
)

var (
	noRing = Status{
		State: None, Next: makeFile,
		Why: "No keyring: choose encrypted file store. Nothing on the session bus answers as org.freedesktop.secrets.",
	}
	ringGone = Status{
		State: None, Next: "Start the keyring, and it goes on by itself; or give up what is sealed: garita secret unlock --reset --create.",
		Why: "No keyring: the one that holds the key of the secrets does not answer on the session bus.",
	}
	ringSilent = Status{
		State: Locked, By: byKeyring, Next: "Look whether the keyring's program hangs; it is asked again when it is needed.",
		Why: "The keyring does not answer.",
	}
	ringWaiting = Status{
		State: Waiting, By: byKeyring, Next: "Unlock it where it asks, and it goes on by itself; or cancel: garita secret unlock --cancel.",
		Why: "Keyring locked - waiting for you to unlock it.",
	}
)

func ringLocked(declined bool) Status {
	s := Status{
		State: Locked, By: byKeyring, Next: "garita secret unlock has it ask you. Without a desktop: " + makeFile,
		Why: "The keyring is locked.",
	}
	if declined {
		s.Why = "The keyring is locked, and its question was canceled."
	}
	return s
}

func fileLocked(path string) Status {
	return Status{
		State: Locked, By: byFile, Next: "garita secret unlock. If it is lost, so are the values: garita secret unlock --reset --create begins anew.",
		Why: "The key of the secrets is in " + path + ", and its passphrase has not been given since the daemon started.",
	}
}

func lost(why string) Status {
	return Status{State: None, Why: why + " What is stored cannot be opened; nothing has been overwritten.", Next: giveUp}
}
