// Nothing is built from it: the chart's monitoring objects are checked against the schemas that it holds.
module haulout.dev/hack/cluster/tools/monitoring-crds

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
