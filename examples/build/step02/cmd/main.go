// Command cmd shows what step 2 mends, and what is still wrong with it.
package main

import "github.com/informerkit/informerkit/examples/build/flaws"

func main() { flaws.Main(2) }
