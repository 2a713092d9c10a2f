//! The control plane: reconcile loops, injector webhook, discovery server.
