//! Headers of packets to and from the controller.

use super::{Builder, ControllerHeaderFields, Named};
use crate::ids::ObjectKind;
use crate::proto::p4::config::v1::{ControllerPacketMetadata, controller_packet_metadata::Metadata};
use check::evaluate::{full_name, is_hidden, local_name};
use check::program::*;
use check::types::TyKind;
use diagnostics::Span;

impl Builder<'_> {
    /// Returns the header types with `@controller_header`, in program order.
    pub fn controller_header_types(&self) -> Vec<StructId> {
        (self.p.decls.iter())
            .filter_map(|d| match d {
                DeclRef::Struct(id) if self.p.structs[*id].kind == StructKind::Header => Some(*id),
                _ => None,
            })
            .filter(|id| annotation(&self.p.structs[*id].annotations, "controller_header").is_some())
            .collect()
    }

    pub fn controller_headers(&mut self) {
        for id in self.controller_header_types() {
            self.controller_header(id);
        }
    }

    fn controller_header(&mut self, id: StructId) {
        let p = self.p;
        let def = &p.structs[id];
        if is_hidden(&def.annotations) {
            return;
        }
        let type_name = full_name("", &def.name, &def.annotations);
        let name = (annotation(&def.annotations, "controller_header").and_then(Annotation::string))
            .unwrap_or(&type_name)
            .to_string();
        let named = Named {
            kind: ObjectKind::ControllerHeader,
            name: name.clone(),
            annotations: &def.annotations,
            except: &[],
            span: def.span,
        };
        let Some(mut preamble) = self.preamble(&named) else { return };
        preamble.id = self.id(ObjectKind::ControllerHeader, &type_name);
        preamble.alias.clone_from(&name);
        let ty = self.types.intern(TyKind::Struct(id, Vec::new()));
        let fields = self.flat_fields(ty, "");
        let parts: Vec<(&Annotations, Span)> = fields.iter().map(|(_, f)| (&f.annotations, f.span)).collect();
        let ids = self.member_ids(&parts);
        let mut metadata = Vec::new();
        let mut in_packets = Vec::new();
        for ((path, f), id) in fields.iter().zip(ids) {
            let name = match path == f.name.as_str() {
                true => local_name(&f.name, &f.annotations).0.to_string(),
                false => path.clone(),
            };
            in_packets.push((name.clone(), self.bits(f.ty).unwrap_or(0)));
            if is_hidden(&f.annotations) {
                continue;
            }
            let ok = match self.kind(f.ty) {
                TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Newtype(_) => true,
                TyKind::Enum(e) => p.enums[*e].underlying.is_some(),
                _ => false,
            };
            if !ok {
                let allowed = "`bit`, `int`, enums over `bit`, and `type`s over these";
                self.unsupported(f.ty, f.span, "a field of a controller header", allowed);
            }
            let wire = self.wire(f.ty);
            let copied = self.annotations(&f.annotations, &[]);
            metadata.push(Metadata {
                id,
                name,
                annotations: copied.text,
                bitwidth: super::types::width(wire.width_bits),
                type_name: wire.type_name,
                structured_annotations: copied.structured,
                annotation_locations: Vec::new(),
            });
        }
        self.has_type_info |= !metadata.is_empty();
        self.controller_headers.push(ControllerHeaderFields { header: name, fields: in_packets });
        self.info
            .controller_packet_metadata
            .push(ControllerPacketMetadata { preamble: Some(preamble), metadata });
    }
}
