// Package browser is the test of the page in a real browser: Debian's chromium, driven by
// playwright-core from frontend/node_modules, against the built binaries and a real sandbox.
package browser
