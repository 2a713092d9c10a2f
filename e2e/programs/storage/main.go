// Storage provisions volumes from a folder of the node. They are of the kind
// `local`, which the kubelet gives to a pod's fsGroup as it does with a cloud's
// disk; a `hostPath` volume would stay with root.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v11/controller"
)

const provisionerName = "remora.dev/node-folder"

// folder is the place under which every volume gets a folder of its own.
type folder string

func (f folder) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	path := filepath.Join(string(f), o.PVName)
	if err := os.MkdirAll(path, 0o770); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("make the volume's folder: %w", err)
	}
	mode := corev1.PersistentVolumeFilesystem
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			VolumeMode:                    &mode,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity:                  onNode(o.SelectedNode.Labels[corev1.LabelHostname]),
		},
	}, controller.ProvisioningFinished, nil
}

func (f folder) Delete(_ context.Context, v *corev1.PersistentVolume) error {
	return os.RemoveAll(filepath.Join(string(f), v.Name))
}

func onNode(host string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host},
		}},
	}}}}
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "whom to watch the claims as")
	root := flag.String("folder", "", "where the volumes' folders are made")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.Fatalf("read the kubeconfig: %v", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		klog.Fatalf("make a client: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	controller.NewProvisionController(ctx, client, provisionerName, folder(*root),
		controller.LeaderElection(false)).Run(ctx)
}
