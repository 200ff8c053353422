// Package e2e holds transcripts: command lines, typed as a person or run as a client does, and what
// must come of them. They run the built binaries with real sandboxes, as an ordinary user.
//
// testdata/*.txtar are testscript files; e2e_test.go gives them these commands besides its own:
//
//	save VAR                     keep the last standard output, without its last line end, in $VAR
//	until [!] TIME [-match RE] PROGRAM ARG…   run it again and again until it succeeds (and matches), or fails
//	pids VAR NAME                the processes of this test called NAME, as $VAR; fails when there are none
//	murder NAME                  kill -9 every process of this test called NAME
//	dead [TIME]                  no process or mount of this test is left
//	gone [TIME]                  neither is a control group
package e2e
