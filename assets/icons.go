// Package assets holds what the binaries carry along: icons, and later profiles and the policy to start with.
package assets

import _ "embed"

// TrayIcon is the sentry box as a PNG of 64 × 64 pixels, for panels light and dark.
//
//go:embed icons/tray.png
var TrayIcon []byte

// TrayIconWaiting is the sentry box with its lamp lit: somebody waits for an answer.
//
//go:embed icons/tray-waiting.png
var TrayIconWaiting []byte
