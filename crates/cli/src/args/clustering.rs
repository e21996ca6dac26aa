//! Arguments of clusters: those of `serve` for a replica, and of the `cluster` commands.
//!
//! Used by `args::serving` and `commands::cluster`. It does not connect (`clustering` does).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use switchboard_cluster::{ClusterName, ClusterOptions, NatsAddresses};

pub(super) const CLUSTER_EXAMPLES: &str = "\
Examples:
  switchboard cluster status --nats nats://127.0.0.1:4222 \\
    --cluster-name team --cluster-key-file cluster.key";

/// How `serve` becomes one replica of several.
#[derive(Debug, Clone, ClapArgs)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct ClusterArgs {
    /// Serve as one replica of a cluster, which shares sessions over NATS at this URL; several URLs are separated by commas
    #[arg(long, value_name = "URL", requires_all = ["cluster_name", "cluster_key_file"])]
    pub(crate) cluster: Option<NatsAddresses>,
    /// The cluster's name: letters a to z, digits and hyphens, the same for all replicas
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) cluster_name: Option<ClusterName>,
    /// The file with the cluster's keys, one per line; the first seals, all open
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) cluster_key_file: Option<PathBuf>,
    /// The file with the credentials for NATS: `USER:PASSWORD` or a token
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) cluster_credentials_file: Option<PathBuf>,
    /// The certificate of the authority that signed those of NATS, in PEM, if the system does not know it
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) cluster_ca_file: Option<PathBuf>,
    /// How long the replica goes on for clients with tokens while NATS cannot be reached
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "cluster", value_parser = clap::value_parser!(u64).range(10..=3600))]
    pub(crate) cluster_stale_after: u64,
}

/// Show a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show the replicas of a cluster: versions, lag, drift, warnings
    ///
    /// Needs no hub, and joins nothing.
    Status(ClusterAccess),
}

/// How a cluster is reached.
#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterAccess {
    /// Where NATS is; several URLs are separated by commas
    #[arg(long, value_name = "URL")]
    pub(crate) nats: NatsAddresses,
    /// The cluster's name
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_name: ClusterName,
    /// The file with the cluster's keys
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_key_file: PathBuf,
    /// The file with the credentials for NATS: `USER:PASSWORD` or a token
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_credentials_file: Option<PathBuf>,
    /// The certificate of the authority that signed those of NATS, in PEM, if the system does not know it
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_ca_file: Option<PathBuf>,
}

// === impl ClusterArgs ===

impl ClusterArgs {
    /// The options of a replica, if this is to be one.
    pub(crate) fn to_options(&self) -> Option<ClusterOptions> {
        let (servers, name) = (self.cluster.clone()?, self.cluster_name.clone()?);
        let mut options = ClusterOptions::new(servers, name, self.cluster_key_file.clone()?);
        options.credentials_file.clone_from(&self.cluster_credentials_file);
        options.ca_file.clone_from(&self.cluster_ca_file);
        options.stale_after = Duration::from_secs(self.cluster_stale_after);
        Some(options)
    }
}

// === impl ClusterAccess ===

impl ClusterAccess {
    pub(crate) fn to_options(&self) -> ClusterOptions {
        let (servers, name) = (self.nats.clone(), self.cluster_name.clone());
        let mut options = ClusterOptions::new(servers, name, self.cluster_key_file.clone());
        options.credentials_file.clone_from(&self.cluster_credentials_file);
        options.ca_file.clone_from(&self.cluster_ca_file);
        options
    }
}
