//! `siding p4rt capabilities`, `get` and `set`: the program of a switch.

use super::{Connected, p4info_of, read, usage};
use crate::cli::{GetArgs, PipelineActionArg, SetArgs};
use crate::output::{self, Exit};
use crate::program::load;
use console::Loaded;
use driver::archive::{self, member};
use p4info::proto::p4::v1 as pb;
use pb::get_forwarding_pipeline_config_request::ResponseType;
use pb::set_forwarding_pipeline_config_request::Action;
use prost::Message;
use serde_json::json;
use std::path::Path;

impl Connected<'_> {
    pub fn capabilities(&self) -> Result<Exit, Exit> {
        let found = self.client.capabilities(self.args.device_id).map_err(|failure| self.failed(&failure))?;
        output::out(&format!("P4Runtime {}\n", found.p4runtime_api_version));
        let services = found.experimental.and_then(|any| prost_types::ListValue::decode(&*any.value).ok());
        for service in services.into_iter().flat_map(|list| list.values) {
            if let Some(prost_types::value::Kind::StringValue(name)) = service.kind {
                output::out(&format!("{name}\n"));
            }
        }
        Ok(Exit::Ok)
    }

    pub fn get(&self, args: &GetArgs) -> Result<Exit, Exit> {
        let parts = match (args.cookie, &args.device_config) {
            (_, Some(_)) => ResponseType::All,
            (true, None) => ResponseType::CookieOnly,
            (false, None) => ResponseType::P4infoAndCookie,
        };
        let config = self.client.pipeline_config(self.args.device_id, parts);
        let Some(config) = config.map_err(|failure| self.failed(&failure))? else {
            output::error_line("the switch has no program; `siding p4rt set PROGRAM` runs one");
            return Ok(Exit::Failed);
        };
        let cookie = config.cookie.map(|cookie| cookie.cookie);
        if let Some(path) = &args.device_config {
            output::replace_file(path, &config.p4_device_config).map_err(|error| {
                output::error_line(&format!("cannot write {}: {error}", path.display()));
                Exit::Environment
            })?;
        }
        if args.cookie {
            let Some(cookie) = cookie else {
                output::error_line(
                    "the program has no cookie; `siding p4rt set --cookie N PROGRAM` gives it one",
                );
                return Ok(Exit::Failed);
            };
            output::out(&format!("{cookie}\n"));
            return Ok(Exit::Ok);
        }
        if let Some(cookie) = cookie {
            output::out(&format!("# cookie: {cookie}\n"));
        }
        let p4info = config.p4info.unwrap_or_default();
        output::out_bytes(&p4info::encode_p4info(&p4info, p4info::Format::Text));
        Ok(Exit::Ok)
    }

    pub fn set(&self, args: &SetArgs) -> Result<Exit, Exit> {
        let action = match args.action {
            PipelineActionArg::Verify => Action::Verify,
            PipelineActionArg::VerifyAndSave => Action::VerifyAndSave,
            PipelineActionArg::VerifyAndCommit => Action::VerifyAndCommit,
            PipelineActionArg::Commit => Action::Commit,
            PipelineActionArg::ReconcileAndCommit => Action::ReconcileAndCommit,
        };
        let config = match (&args.file, action) {
            (Some(_), Action::Commit) => {
                return Err(usage("--action commit runs the program that was saved: leave the program out"));
            }
            (None, Action::Commit) => None,
            (None, _) => return Err(usage("name the program that the switch is to run")),
            (Some(path), _) => {
                let mut config = self.config(path)?;
                config.cookie = args.cookie.map(|cookie| pb::forwarding_pipeline_config::Cookie { cookie });
                Some(config)
            }
        };
        let session = self.primary()?;
        let request = pb::SetForwardingPipelineConfigRequest {
            device_id: self.args.device_id,
            role: self.args.role.clone(),
            election_id: session.election_id,
            action: action.into(),
            config,
            ..pb::SetForwardingPipelineConfigRequest::default()
        };
        self.client.set_pipeline_config(request).map_err(|failure| self.failed(&failure))?;
        Ok(Exit::Ok)
    }

    /// The config for a file. Programs are checked here, where their messages point into their files.
    fn config(&self, path: &Path) -> Result<pb::ForwardingPipelineConfig, Exit> {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let (p4info, device_config) = match suffix {
            Some("p4") => {
                let loaded = load(path, &self.args.front_end, self.matches)?;
                let texts = texts(&loaded).map_err(|error| {
                    output::error_line(&format!("cannot make an archive: {error}"));
                    Exit::Environment
                })?;
                (Some(loaded.runnable.control_plane.p4info), texts)
            }
            Some("sdp") => {
                let loaded = load(path, &self.args.front_end, self.matches)?;
                (Some(loaded.runnable.control_plane.p4info), read(path)?)
            }
            Some(_) | None => (None, read(path)?),
        };
        let p4info = match (&self.args.p4info, p4info) {
            (Some(given), _) => p4info_of(given)?,
            (None, Some(own)) => own,
            (None, None) => {
                let shown = path.display();
                return Err(usage(format!(
                    "{shown} is neither a program (.p4) nor an archive (.sdp); name its P4Info with --p4info"
                )));
            }
        };
        Ok(pb::ForwardingPipelineConfig {
            p4info: Some(p4info),
            p4_device_config: device_config,
            ..pb::ForwardingPipelineConfig::default()
        })
    }
}

/// A program with the files that it includes: its own text if there are no others, else an archive.
fn texts(loaded: &Loaded) -> std::io::Result<Vec<u8>> {
    let architecture = loaded.runnable.program.architecture;
    let mut own = loaded.sources.files().filter(|(_, file)| !file.is_system);
    if let (Some((_, file)), None) = (own.next(), own.next())
        && loaded.macros.is_empty()
        && architecture.added_text().is_none()
    {
        return Ok(file.text.as_bytes().to_vec());
    }
    let mut texts = archive::describe_texts(&loaded.sources, &loaded.includes, &loaded.macros);
    texts["description"] = architecture.added_text().into();
    let manifest = json!({
        "format": "siding-program",
        "version": archive::VERSION,
        "siding": env!("CARGO_PKG_VERSION"),
        "architecture": architecture.name,
        "texts": texts,
    });
    let mut files = vec![(member::MANIFEST.to_owned(), format!("{manifest:#}\n").into_bytes())];
    for (i, (_, file)) in loaded.sources.files().enumerate() {
        files.push((archive::text_member(i), file.text.as_bytes().to_vec()));
    }
    archive::pack(&files)
}
