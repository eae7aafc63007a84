// Nothing is built from it: the examples in gitops/ are applied under the CRDs that these modules hold.
module haulout.dev/hack/cluster/tools/gitops-crds

go 1.26.0

require (
	github.com/argoproj/argo-cd/v3 v3.4.13
	github.com/fluxcd/kustomize-controller v1.9.6
)
