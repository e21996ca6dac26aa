//! The bill of materials of the program, in the format `CycloneDX` 1.5: every package that is compiled into it.
//!
//! Used by `dist`. It is made from `cargo metadata`; packages for other targets, for tests and for building are left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Release;
use crate::command::{cargo, output};
use crate::failure::{AboutFile, Failure, Result};

/// Writes the bill and returns its path.
pub(super) fn write(release: &Release, out: &Path) -> Result<PathBuf> {
    let mut command = cargo(&["metadata", "--format-version=1", "--locked", "--filter-platform"]);
    command.arg(&release.target);
    let unreadable = |why| Failure::new("`cargo metadata` is not JSON").because(why);
    let metadata: Value = serde_json::from_str(&output(&mut command)?).map_err(unreadable)?;
    let bill = bill(&metadata, "switchboard-cli", release);
    let path = out.join(format!("switchboard-{}.cdx.json", release.version));
    fs::write(&path, format!("{bill:#}\n")).about("write", &path)?;
    Ok(path)
}

fn bill(metadata: &Value, program: &str, release: &Release) -> Value {
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let root = packages.iter().find(|(_, package)| package["name"] == program);
    let root = root.map(|(id, _)| *id).unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut waiting = vec![root];
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            waiting.extend(linked_packages(nodes.get(id).copied()));
        }
    }
    let package = |id: &&str| packages.get(*id).copied();
    let others = found.iter().filter(|id| **id != root);
    let mut components: Vec<_> = others.filter_map(package).map(component).collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let reference = |id: &str| packages.get(id).map(|package| purl(package));
    let mut dependencies: Vec<_> = found
        .iter()
        .map(|id| {
            let on = linked_packages(nodes.get(id).copied()).into_iter().filter_map(reference);
            let on: BTreeSet<_> = on.collect();
            json!({ "ref": reference(id), "dependsOn": on })
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    let (reference, version) = (reference(root), &release.version);
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": {
            "type": "application", "name": "switchboard", "version": version, "bom-ref": reference,
        } },
        "components": components,
        "dependencies": dependencies,
    })
}

/// The ids of the packages that this one is linked with.
fn linked_packages(node: Option<&Value>) -> Vec<&str> {
    let dependencies = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
    let is_linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
        kinds.into_iter().any(|kind| kind["kind"].is_null())
    };
    dependencies.filter(is_linked).filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| Some((item["id"].as_str()?, item))).collect()
}

fn component(package: &Value) -> Value {
    let mut component = json!({
        "type": "library", "name": package["name"], "version": package["version"],
        "bom-ref": purl(package), "purl": purl(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // `/` was once used for OR.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    component
}

fn purl(package: &Value) -> String {
    let text = |member: &str| package[member].as_str().unwrap_or_default().to_owned();
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}
