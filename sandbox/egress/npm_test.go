package egress_test

import "fmt"

func inhabitant(args []string) int { fmt.Println(args); return 1 }
