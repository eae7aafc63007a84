{{/* One endpoint of a monitor, from (dict "root" $ "interval" ...). */}}
{{- define "haulout.metricsEndpoint" -}}
{{- $secure := .root.Values.monitoring.secureMetrics -}}
port: {{ include "haulout.metricsPort" .root }}
path: /metrics
{{- with .interval }}
interval: {{ . }}
{{- end }}
{{- if $secure.enabled }}
scheme: https
{{- /* No default in values.yaml: Helm would merge it into what is set there, and nothing would be checked. */}}
tlsConfig:
  {{- toYaml ($secure.tlsConfig | default (dict "insecureSkipVerify" true)) | nindent 2 }}
{{- with $secure.authorization }}
authorization:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Name of the port that /metrics is on. */}}
{{- define "haulout.metricsPort" -}}
{{- ternary "metrics" "http" .Values.monitoring.secureMetrics.enabled -}}
{{- end -}}
