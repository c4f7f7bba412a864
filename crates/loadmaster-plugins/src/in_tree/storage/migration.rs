//! Disks of clouds that Kubernetes once knew itself, as the volumes of the drivers that took over
//! (upstream: `csi-translation-lib`). Only what decides about placement is translated.

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "literals of JSON read best passed by value")]
mod tests;

use std::collections::BTreeSet;

use loadmaster_framework::api::{
    AzureDisk, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume, Text,
    Volume,
};

/// A kind of disk that Kubernetes once knew itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTree {
    AwsElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    GcePersistentDisk,
    Portworx,
    Vsphere,
}

impl InTree {
    const ALL: [Self; 7] = [
        Self::AwsElasticBlockStore,
        Self::AzureDisk,
        Self::AzureFile,
        Self::Cinder,
        Self::GcePersistentDisk,
        Self::Portworx,
        Self::Vsphere,
    ];

    /// The kind that the provisioner `name` once made.
    pub(crate) fn of_provisioner(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.plugin() == name)
    }

    /// The kind of a volume, if it is of one.
    pub(crate) fn of_persistent(volume: &PersistentVolume) -> Option<Self> {
        let spec = &volume.spec;
        let kinds = [
            (spec.aws_elastic_block_store.is_some(), Self::AwsElasticBlockStore),
            (spec.azure_disk.is_some(), Self::AzureDisk),
            (spec.cinder.is_some(), Self::Cinder),
            (spec.gce_persistent_disk.is_some(), Self::GcePersistentDisk),
            (spec.portworx_volume.is_some(), Self::Portworx),
            (spec.vsphere_volume.is_some(), Self::Vsphere),
        ];
        kinds.into_iter().find(|(is_set, _)| *is_set).map(|(_, kind)| kind)
    }

    /// The kind of a disk given in a pod, if it is of one.
    pub(crate) fn of_inline(volume: &Volume) -> Option<Self> {
        let kinds = [
            (volume.aws_elastic_block_store.is_some(), Self::AwsElasticBlockStore),
            (volume.azure_disk.is_some(), Self::AzureDisk),
            (volume.azure_file.is_some(), Self::AzureFile),
            (volume.cinder.is_some(), Self::Cinder),
            (volume.gce_persistent_disk.is_some(), Self::GcePersistentDisk),
            (volume.portworx_volume.is_some(), Self::Portworx),
            (volume.vsphere_volume.is_some(), Self::Vsphere),
        ];
        kinds.into_iter().find(|(is_set, _)| *is_set).map(|(_, kind)| kind)
    }

    /// The name of the old plugin, which is also that of its provisioner.
    pub(crate) fn plugin(self) -> &'static str {
        match self {
            Self::AwsElasticBlockStore => "kubernetes.io/aws-ebs",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::Cinder => "kubernetes.io/cinder",
            Self::GcePersistentDisk => "kubernetes.io/gce-pd",
            Self::Portworx => "kubernetes.io/portworx-volume",
            Self::Vsphere => "kubernetes.io/vsphere-volume",
        }
    }

    /// The name of the driver that took over.
    pub(crate) fn driver(self) -> &'static str {
        match self {
            Self::AwsElasticBlockStore => "ebs.csi.aws.com",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::AzureFile => "file.csi.azure.com",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::GcePersistentDisk => "pd.csi.storage.gke.io",
            Self::Portworx => "pxd.portworx.com",
            Self::Vsphere => "csi.vsphere.vmware.com",
        }
    }

    /// Whether the scheduler counts these disks with the driver that took over.
    pub(crate) fn is_migrated(self) -> bool {
        !matches!(self, Self::AzureFile | Self::Vsphere)
    }

    /// The label of nodes by which the driver knows zones, where it knows them.
    fn zone_key(self) -> Option<&'static str> {
        match self {
            Self::AwsElasticBlockStore => Some("topology.ebs.csi.aws.com/zone"),
            Self::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            Self::GcePersistentDisk => Some("topology.gke.io/zone"),
            Self::AzureDisk | Self::AzureFile | Self::Portworx | Self::Vsphere => None,
        }
    }

    /// The driver's name for a disk given in a pod.
    ///
    /// # Errors
    /// Upstream's text for a disk that cannot be translated.
    pub(crate) fn inline_handle(self, volume: &Volume) -> Result<Text, String> {
        let handle = match self {
            Self::AwsElasticBlockStore => {
                return volume
                    .aws_elastic_block_store
                    .as_ref()
                    .map_or_else(|| Ok(Text::default()), |disk| aws_handle(&disk.volume_id));
            }
            Self::AzureDisk => {
                return volume
                    .azure_disk
                    .as_ref()
                    .map_or_else(|| Ok(Text::default()), azure_handle);
            }
            Self::Cinder => volume.cinder.as_ref().map(|it| it.volume_id.clone()),
            Self::GcePersistentDisk => {
                volume.gce_persistent_disk.as_ref().map(|it| gce_zonal(UNSPECIFIED, &it.pd_name))
            }
            Self::Portworx => volume.portworx_volume.as_ref().map(|it| it.volume_id.clone()),
            Self::Vsphere => volume.vsphere_volume.as_ref().map(|it| it.volume_path.clone()),
            Self::AzureFile => volume.azure_file.as_ref().map(|it| it.share_name.clone()),
        };
        Ok(handle.unwrap_or_default())
    }

    /// The driver's name for a volume of this kind.
    ///
    /// # Errors
    /// Upstream's text for a volume that cannot be translated.
    pub(crate) fn handle(self, volume: &PersistentVolume) -> Result<Text, String> {
        let spec = &volume.spec;
        let handle = match self {
            Self::AwsElasticBlockStore => {
                return spec
                    .aws_elastic_block_store
                    .as_ref()
                    .map_or_else(|| Ok(Text::default()), |disk| aws_handle(&disk.volume_id));
            }
            Self::AzureDisk => {
                return spec.azure_disk.as_ref().map_or_else(|| Ok(Text::default()), azure_handle);
            }
            Self::GcePersistentDisk => return gce_handle(volume),
            Self::Cinder => spec.cinder.as_ref().map(|it| it.volume_id.clone()),
            Self::Portworx => spec.portworx_volume.as_ref().map(|it| it.volume_id.clone()),
            Self::Vsphere => spec.vsphere_volume.as_ref().map(|it| it.volume_path.clone()),
            Self::AzureFile => None,
        };
        Ok(handle.unwrap_or_default())
    }

    /// From which nodes a volume of this kind can be reached, in the driver's labels; none is from
    /// everywhere.
    ///
    /// # Errors
    /// Upstream's text for a volume that cannot be translated.
    pub(crate) fn node_affinity(
        self,
        volume: &PersistentVolume,
    ) -> Result<Option<NodeSelector>, String> {
        self.handle(volume)?;
        let required = volume.spec.node_affinity.as_ref().and_then(|it| it.required.clone());
        Ok(match self.zone_key() {
            Some(key) => in_driver_labels(volume, required, key),
            None => required,
        })
    }
}

/// Puts the driver's zone label in the place of Kubernetes' one; without one, the zones in the
/// volume's own label are required.
fn in_driver_labels(
    volume: &PersistentVolume,
    required: Option<NodeSelector>,
    key: &str,
) -> Option<NodeSelector> {
    let mut selector = required.unwrap_or_default();
    let (zone, region) = topology_labels(volume, &selector);
    if names_values(&selector, zone) {
        rename(&mut selector, zone, key);
    } else if let Some(zones) = volume.metadata.labels.get(zone) {
        let zones: BTreeSet<Text> =
            zones.split("__").map(str::trim).filter(|it| !it.is_empty()).map(Text::from).collect();
        if !zones.is_empty() {
            require_zones(&mut selector, key, zones);
        }
    }
    if region == BETA_REGION && names_values(&selector, region) {
        rename(&mut selector, region, REGION);
    }
    let had_one = volume.spec.node_affinity.as_ref().is_some_and(|it| it.required.is_some());
    (had_one || !selector.node_selector_terms.is_empty()).then_some(selector)
}

fn require_zones(selector: &mut NodeSelector, key: &str, zones: BTreeSet<Text>) {
    if selector.node_selector_terms.is_empty() {
        selector.node_selector_terms.push(NodeSelectorTerm::default());
    }
    let values: Vec<Text> = zones.into_iter().collect();
    for term in &mut selector.node_selector_terms {
        term.match_expressions.push(NodeSelectorRequirement {
            key: key.into(),
            operator: "In".into(),
            values: values.clone(),
        });
    }
}

/// The labels for zone and region that the volume speaks of: today's, or the ones from before.
fn topology_labels(
    volume: &PersistentVolume,
    selector: &NodeSelector,
) -> (&'static str, &'static str) {
    let labels = &volume.metadata.labels;
    let named = |key: &str| requirements(selector).any(|it| *it.key == *key);
    let is_beta = !named(ZONE)
        && (named(BETA_ZONE) || (!labels.contains_key(ZONE) && labels.contains_key(BETA_ZONE)));
    if is_beta { (BETA_ZONE, BETA_REGION) } else { (ZONE, REGION) }
}

fn requirements(selector: &NodeSelector) -> impl Iterator<Item = &NodeSelectorRequirement> {
    selector.node_selector_terms.iter().flat_map(|it| &it.match_expressions)
}

fn names_values(selector: &NodeSelector, key: &str) -> bool {
    requirements(selector).any(|it| *it.key == *key && !it.values.is_empty())
}

fn rename(selector: &mut NodeSelector, from: &str, to: &str) {
    let terms = selector.node_selector_terms.iter_mut();
    for requirement in terms.flat_map(|it| &mut it.match_expressions) {
        if *requirement.key == *from {
            requirement.key = to.into();
        }
    }
}

/// `vol-…` as it is, or at the end of `aws://zone/vol-…`.
fn aws_handle(id: &str) -> Result<Text, String> {
    let Some(address) = id.strip_prefix("aws://") else { return Ok(id.into()) };
    let path = address.split_once('/').map_or("", |(_, path)| path);
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    if path.starts_with("vol-") && !path.contains('/') {
        return Ok(path.into());
    }
    Err(format!(
        "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({id})"
    ))
}

fn azure_handle(disk: &AzureDisk) -> Result<Text, String> {
    match &disk.kind {
        Some(kind) if !kind.eq_ignore_ascii_case("Managed") => {
            Err(format!("kind({kind}) is not supported in csi migration"))
        }
        _ => Ok(disk.disk_uri.clone()),
    }
}

/// A disk of one zone, or of the region of several; where is told by the volume's label.
fn gce_handle(volume: &PersistentVolume) -> Result<Text, String> {
    let Some(disk) = &volume.spec.gce_persistent_disk else { return Ok(Text::default()) };
    let label = |key| volume.metadata.labels.get(key).filter(|it| !it.is_empty());
    let zones = label(BETA_ZONE).or_else(|| label(ZONE)).map_or("", |it| it);
    let zones: Vec<&str> = zones.split("__").collect();
    Ok(match zones.as_slice() {
        [""] => gce_zonal(UNSPECIFIED, &disk.pd_name),
        [zone] => gce_zonal(zone, &disk.pd_name),
        zones => {
            let region = gce_region(zones)
                .map_err(|error| format!("failed to get region from zones: {error}"))?;
            format!("projects/{UNSPECIFIED}/regions/{region}/disks/{}", disk.pd_name).into()
        }
    })
}

fn gce_zonal(zone: &str, name: &str) -> Text {
    format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{name}").into()
}

/// The region that zones of the form `locale-region-zone` are of.
fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let [locale, region, _] = zone.split('-').collect::<Vec<_>>()[..] else {
            return Err(format!(
                "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            ));
        };
        regions.insert(format!("{locale}-{region}"));
    }
    match (regions.len(), regions.pop_first()) {
        (1, Some(region)) => Ok(region),
        (_, first) => {
            let all = first.into_iter().chain(regions).map(|it| format!("{it}:{{}}"));
            let all = all.collect::<Vec<_>>().join(" ");
            Err(format!("multiple or no regions gotten from zones, got: map[{all}]"))
        }
    }
}

const UNSPECIFIED: &str = "UNSPECIFIED";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
