package routertest_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/onceward/onceward/router/routertest"
)

// One resource is overloaded once; the client goes on to the other.
func Example() {
	pool, err := routertest.New(routertest.Config{
		Resources: []routertest.Resource{{Name: "swedencentral"}, {Name: "eastus2"}},
		Model:     routertest.RefundModel(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := pool.SetFaults(routertest.FailWith(503, "").On("swedencentral").For(1)); err != nil {
		fmt.Println(err)
		return
	}
	body := `{"model":"gpt-5.6","store":false,"input":"refund order-1842","tools":[{"type":"function","name":"get_order","parameters":{"type":"object"}}]}`
	for _, r := range pool.Resources() {
		res, err := http.Post(r.URL()+"responses", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = res.Body.Close()
		fmt.Println(r.Name(), res.StatusCode)
	}
	fmt.Println(pool.Attempts(), "attempts")
	// Output:
	// swedencentral 503
	// eastus2 200
	// 2 attempts
}
