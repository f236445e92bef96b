//! `pkg_info`: the architecture and the fields of `@pkginfo`.

use super::Builder;
use super::annotations::documentation;
use super::types::{Pair, pairs};
use crate::codes;
use crate::proto::p4::config::v1::{PkgInfo, PlatformProperties};
use arch::Version;
use check::program::{DeclRef, NodeKind};
use diagnostics::{Diagnostic, Span};
use num_traits::ToPrimitive;

impl Builder<'_> {
    /// Checks that the architecture is one whose externs are known, in a version that exists.
    pub fn architecture(&mut self) {
        let Some(main) = self.p.main else {
            self.report(
                Diagnostic::new(&codes::NO_MAIN, Span::NONE, "the program has no `main`, so P4Info is empty")
                    .help("instantiate the architecture's package: `V1Switch(...) main;`"),
            );
            return;
        };
        let span = self.p.nodes[main].span;
        let Some(arch) = self.arch else {
            let name = self.package_name();
            self.report(
                Diagnostic::new(
                    &codes::UNKNOWN_ARCHITECTURE,
                    span,
                    format!("the externs of the architecture with package `{name}` are not known"),
                )
                .label(format!("of type `{name}`"))
                .note("P4Info gets tables and actions, but no counters, meters and other externs")
                .help("say whose externs the program uses: `--arch v1model`, or psa, pna, ubpf, ebpf, xdp"),
            );
            return;
        };
        if let Some(version) = &arch.description().version {
            self.check_version(version);
        }
    }

    fn check_version(&mut self, known: &Version) {
        let Version { constant, first, last } = known;
        let found = self.p.decls.iter().find_map(|d| match d {
            DeclRef::Const(id) if self.p.constants[*id].name == *constant => Some(&self.p.constants[*id]),
            _ => None,
        });
        let Some(def) = found else { return };
        let Some(version) = self.p.eval(&def.init, None).and_then(|v| v.as_int()?.to_u32()) else { return };
        let is_valid = (*first..=*last).contains(&version);
        if !is_valid {
            let span = def.init.span;
            self.report(
                Diagnostic::new(
                    &codes::ARCHITECTURE_VERSION,
                    span,
                    format!("there is no version {version} of this architecture"),
                )
                .label("unknown version")
                .note(format!("the versions are dates from {first} to {last}")),
            );
        }
    }

    fn package_name(&self) -> String {
        match self.p.main.map(|main| self.p.nodes[main].kind) {
            Some(NodeKind::Package(id)) => self.p.block_types[id].name.to_string(),
            _ => String::new(),
        }
    }

    pub fn package(&mut self) {
        let Some(main) = self.p.main else { return };
        let annotations = self.p.nodes[main].annotations.clone();
        let copied = self.annotations(&annotations, &["pkginfo", "platform_property"]);
        let mut info = PkgInfo {
            arch: self.arch.map_or_else(|| self.package_name(), |a| a.description().name.clone()),
            doc: documentation(&annotations),
            annotations: copied.text,
            structured_annotations: copied.structured,
            ..Default::default()
        };
        for (key, value, span) in pairs(&annotations, "pkginfo") {
            let Pair::Str(text) = value else {
                self.report(
                    Diagnostic::new(
                        &codes::PACKAGE_PROPERTY,
                        span,
                        format!("`{key}` of `@pkginfo` must be a string"),
                    )
                    .label("not a string"),
                );
                continue;
            };
            match key.as_str() {
                "name" => info.name = text,
                "version" => info.version = text,
                "organization" => info.organization = text,
                "contact" => info.contact = text,
                "url" => info.url = text,
                "arch" => {
                    self.report(
                        Diagnostic::new(
                            &codes::IGNORED_ANNOTATION,
                            span,
                            format!("`@pkginfo` renames the architecture `{}` to `{text}`", info.arch),
                        )
                        .label("the compiler knows the architecture from `main`"),
                    );
                    info.arch = text;
                }
                _ => self.report(
                    Diagnostic::new(
                        &codes::IGNORED_ANNOTATION,
                        span,
                        format!("`@pkginfo` has no key `{key}`"),
                    )
                    .label("has no effect")
                    .note("its keys are name, version, organization, contact, url and arch"),
                ),
            }
        }
        let mut properties: Option<PlatformProperties> = None;
        for (key, value, span) in pairs(&annotations, "platform_property") {
            let number = match value {
                Pair::Int(i) => i.to_i32(),
                Pair::Str(_) | Pair::Other => None,
            };
            let Some(number) = number else {
                self.report(
                    Diagnostic::new(
                        &codes::PACKAGE_PROPERTY,
                        span,
                        format!("`{key}` of `@platform_property` must be an integer of at most 31 bits"),
                    )
                    .label("not such a number"),
                );
                continue;
            };
            let all = properties.get_or_insert_default();
            match key.as_str() {
                "multicast_group_table_size" => all.multicast_group_table_size = number,
                "multicast_group_table_total_replicas" => all.multicast_group_table_total_replicas = number,
                "multicast_group_table_max_replicas_per_entry" => {
                    all.multicast_group_table_max_replicas_per_entry = number;
                }
                _ => self.report(
                    Diagnostic::new(
                        &codes::IGNORED_ANNOTATION,
                        span,
                        format!("`@platform_property` has no key `{key}`"),
                    )
                    .label("has no effect"),
                ),
            }
        }
        info.platform_properties = properties;
        self.info.pkg_info = Some(info);
    }
}
