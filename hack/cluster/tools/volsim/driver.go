package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// driver is what csi-attacher speaks to: CSI's words for what the provider does.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	name     string
	provider *provider
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) GetPluginCapabilities(
	context.Context, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{
		Capabilities: []*csi.PluginCapability{{Type: &csi.PluginCapability_Service_{Service: service}}},
	}, nil
}

func (d *driver) ControllerGetCapabilities(
	context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	publish := &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME}
	return &csi.ControllerGetCapabilitiesResponse{
		Capabilities: []*csi.ControllerServiceCapability{{Type: &csi.ControllerServiceCapability_Rpc{Rpc: publish}}},
	}, nil
}

func (d *driver) ControllerPublishVolume(
	ctx context.Context, request *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	mode := request.GetVolumeCapability().GetAccessMode().GetMode()
	isShared := mode == csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER ||
		mode == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	at := place{volume: request.GetVolumeId(), node: request.GetNodeId()}
	if err := d.provider.do(ctx, attach, at, !isShared); err != nil {
		return nil, err
	}
	return &csi.ControllerPublishVolumeResponse{}, nil
}

func (d *driver) ControllerUnpublishVolume(
	ctx context.Context, request *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	at := place{volume: request.GetVolumeId(), node: request.GetNodeId()}
	if err := d.provider.do(ctx, detach, at, false); err != nil {
		return nil, err
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}
