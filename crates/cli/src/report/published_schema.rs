//! The schema of SARIF as OASIS publishes it, for the tests of the reports and those of the whole program.

use std::process::Command;

/// The schema comes with the sources of the `serde-sarif` crate, which cargo has at hand.
pub(crate) fn sarif() -> serde_json::Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let package =
        metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == "serde-sarif");
    let manifest = package.expect("serde-sarif is a dependency")["manifest_path"].as_str().unwrap();
    let schema = std::path::Path::new(manifest).with_file_name("src").join("schema.json");
    let text = std::fs::read_to_string(schema).expect("serde-sarif carries the schema");
    let mut schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    // As published the pattern for languages is not a valid regular expression. We write no such member.
    for owner in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][owner]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    schema
}

/// The platform of the tests: the packages of others need not be there, and cargo may not fetch them.
fn host() -> String {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("-vV").output().expect("rustc can be run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc tells its host").to_owned()
}
