// Command cmd shows what step 4 mends, and what is still wrong with it.
package main

import "github.com/informerkit/informerkit/examples/build/flaws"

func main() { flaws.Main(4) }
