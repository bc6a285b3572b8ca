module mesita.test/exporter

go 1.19

require (
	github.com/influxdata/telegraf v1.25.3
	github.com/prometheus/common v0.39.0
)

require (
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.4 // indirect
	github.com/prometheus/client_model v0.3.0 // indirect
	github.com/tidwall/gjson v1.14.3 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
	google.golang.org/protobuf v1.28.1 // indirect
)
