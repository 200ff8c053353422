// Command garita-desktop is Garita's window. Wails compiles package main in the project's root,
// so everything it does is in package app.
package main

import "github.com/garita-dev/garita/app"

func main() { app.Main() }
