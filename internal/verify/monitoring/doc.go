// Package monitoring checks what informer/prometheus has for Prometheus and Grafana:
// alerts.yaml and dashboard.json. It is a module of its own, because it needs
// Prometheus.
//
//	series_test.go     every series and label that they name is exported
//	alerts_test.go     Prometheus accepts the rules, and each fires when it should and not else
//	scrape_test.go     a real Prometheus scrapes a controller in trouble, as in a cluster, and evaluates them
//	dashboard_test.go  the dashboard is complete
package monitoring
