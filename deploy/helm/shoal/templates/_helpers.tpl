{{/* Names of objects: 40 letters leave room for what Kubernetes adds. */}}
{{- define "shoal.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "shoal.selector" -}}
app.kubernetes.io/name: shoal
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: head
{{- end }}

{{- define "shoal.labels" -}}
{{ include "shoal.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{/* The cluster file. Its name is the release's, so clusters of one namespace do not mix. */}}
{{- define "shoal.cluster" -}}
{{- $provider := merge (dict "type" "kubernetes" "namespace" .Release.Namespace "image" (required "image: name the image of the nodes" .Values.image)) .Values.provider -}}
{{- merge (dict "cluster_name" (include "shoal.name" .) "provider" $provider) .Values.cluster | toYaml -}}
{{- end }}
