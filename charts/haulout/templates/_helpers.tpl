{{/* Name of everything in the release; at most 63 characters, the limit of a label. */}}
{{- define "haulout.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "haulout.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "haulout.labels" -}}
{{ include "haulout.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* These and more, from (dict "root" $ "more" ...), which wins over commonLabels: a key that is there twice is refused. */}}
{{- define "haulout.labelsAnd" -}}
{{- toYaml (merge (dict) (.more | default dict) (include "haulout.labels" .root | fromYaml)) -}}
{{- end -}}

{{/*
Of the pod that runs before the release is uninstalled. It must not count as one of the operator's, so it has no podLabels:
by one of those a podAntiAffinity of the user's may keep it away from every node.
*/}}
{{- define "haulout.releasePodLabels" -}}
{{- /* The operator works until this pod has stopped it, and must not evict it from a node that it empties. */ -}}
{{- $own := dict "app.kubernetes.io/name" (printf "%s-release" .Chart.Name) "haulout.dev/release-all" "true" -}}
{{- include "haulout.labelsAnd" (dict "root" . "more" $own) -}}
{{- end -}}

{{- define "haulout.releaseName" -}}
{{- printf "%s-release" (include "haulout.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end -}}

{{- define "haulout.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "haulout.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.create is false: serviceAccount.name must say which one to use" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "haulout.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Preferred, not required: where every node is under maintenance the operator must run to end one. */}}
{{- define "haulout.nodeAffinity" -}}
preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    preference:
      matchExpressions:
        - key: haulout.dev/maintenance
          operator: DoesNotExist
{{- end -}}
