{{/* The name that all of the release's objects begin with; at most 40 characters, so that suffixes fit. */}}
{{- define "remora.name" -}}
{{- if contains "remora" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-remora" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "remora.labels" -}}
app.kubernetes.io/name: remora
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "remora.selector" -}}
app.kubernetes.io/name: remora
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{/* An image of Remora's own: (list $ "remora-operator"). */}}
{{- define "remora.image" -}}
{{- $root := index . 0 -}}
{{- if not $root.Values.image.registry -}}
{{- fail "image.registry is not set: no public registry has Remora's images. Run `make push REGISTRY=registry.example.com/remora` and install with `--set image.registry=registry.example.com/remora`." -}}
{{- end -}}
{{- printf "%s/%s:%s" (trimSuffix "/" $root.Values.image.registry) (index . 1) (default $root.Chart.AppVersion $root.Values.image.tag) -}}
{{- end }}
