// An exporter made of telegraf's own parts: its input of Mesos' metrics and its Prometheus format.
package main

import (
	"bytes"
	"flag"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/influxdata/telegraf"
	"github.com/influxdata/telegraf/metric"
	"github.com/influxdata/telegraf/plugins/inputs/mesos"
	"github.com/influxdata/telegraf/plugins/serializers/prometheus"
	"github.com/prometheus/common/expfmt"
)

// What the input found in one look.
type gathered struct {
	metrics []telegraf.Metric
	errors  []error
}

func (g *gathered) add(name string, fields map[string]interface{}, tags map[string]string, kind telegraf.ValueType) {
	g.metrics = append(g.metrics, metric.New(name, tags, fields, time.Now(), kind))
}

func (g *gathered) AddFields(name string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	g.add(name, fields, tags, telegraf.Untyped)
}

func (g *gathered) AddGauge(name string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	g.add(name, fields, tags, telegraf.Gauge)
}

func (g *gathered) AddCounter(name string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	g.add(name, fields, tags, telegraf.Counter)
}

func (g *gathered) AddSummary(name string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	g.add(name, fields, tags, telegraf.Summary)
}

func (g *gathered) AddHistogram(name string, fields map[string]interface{}, tags map[string]string, _ ...time.Time) {
	g.add(name, fields, tags, telegraf.Histogram)
}

func (g *gathered) AddMetric(m telegraf.Metric)  { g.metrics = append(g.metrics, m) }
func (g *gathered) SetPrecision(_ time.Duration) {}

func (g *gathered) WithTracking(_ int) telegraf.TrackingAccumulator { return nil }

func (g *gathered) AddError(err error) {
	if err != nil {
		g.errors = append(g.errors, err)
	}
}

type logger struct{ *log.Logger }

func (l logger) Errorf(f string, a ...interface{}) { l.Printf(f, a...) }
func (l logger) Error(a ...interface{})            { l.Println(a...) }
func (l logger) Debugf(f string, a ...interface{}) {}
func (l logger) Debug(a ...interface{})            {}
func (l logger) Warnf(f string, a ...interface{})  { l.Printf(f, a...) }
func (l logger) Warn(a ...interface{})             { l.Println(a...) }
func (l logger) Infof(f string, a ...interface{})  {}
func (l logger) Info(a ...interface{})             {}

func main() {
	master := flag.String("master", "", "URL of the master")
	agent := flag.String("agent", "", "URL of an agent")
	listen := flag.String("listen", "", "address to serve at")
	flag.Parse()

	input := &mesos.Mesos{
		Timeout: 5000,
		Masters: []string{*master},
		Slaves:  []string{*agent},
		Log:     logger{log.New(os.Stderr, "", 0)},
	}
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		found := &gathered{}
		if err := input.Gather(found); err != nil {
			found.AddError(err)
		}
		if len(found.errors) > 0 {
			http.Error(w, found.errors[0].Error(), http.StatusBadGateway)
			return
		}
		collection := prometheus.NewCollection(prometheus.FormatConfig{})
		for _, m := range found.metrics {
			collection.Add(m, time.Now())
		}
		var body bytes.Buffer
		for _, family := range collection.GetProto() {
			if _, err := expfmt.MetricFamilyToText(&body, family); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.Header().Set("Content-Type", string(expfmt.FmtText))
		_, _ = w.Write(body.Bytes())
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
