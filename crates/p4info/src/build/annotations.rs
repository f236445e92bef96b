//! Annotations and documentation in P4Info.

use super::Builder;
use crate::codes;
use crate::proto::p4::config::v1::{
    Documentation, Expression, ExpressionList, KeyValuePair, KeyValuePairList, StructuredAnnotation,
    expression, structured_annotation,
};
use check::program::{Annotation, AnnotationBody, Annotations, annotation};
use check::value::Value;
use diagnostics::{Diagnostic, SourceMap};
use num_traits::ToPrimitive;
use syntax::ast::{AnnotationToken, AnnotationTokenKind as Kind};

/// Annotations that P4Info stores in dedicated fields.
const ELSEWHERE: &[&str] = &["name", "id", "brief", "description"];

/// Free-form annotations whose body the compiler understands: it is printed as expressions, not as tokens.
const EXPRESSIONS: &[&str] = &[
    "atomic",
    "defaultonly",
    "groupaction",
    "tableonly",
    "hidden",
    "likely",
    "unlikely",
    "noSideEffects",
    "optional",
    "pure",
    "disable_optimization",
    "unroll",
    "nounroll",
    "deprecated",
    "noWarn",
    "length",
    "match",
    "synchronous",
    "field_list",
    "command_line",
    "controller_header",
];

/// Annotations in the two forms of P4Info.
#[derive(Default)]
pub(super) struct Copied {
    pub text: Vec<String>,
    pub structured: Vec<StructuredAnnotation>,
}

impl Builder<'_> {
    /// Copies annotations, except those with dedicated fields and those in `except`.
    pub fn annotations(&mut self, annotations: &Annotations, except: &[&str]) -> Copied {
        let mut copied = Copied::default();
        for a in annotations.iter() {
            match &a.body {
                AnnotationBody::List(values) => {
                    let expressions = self.expressions(a, values);
                    let body = structured_annotation::Body::ExpressionList(ExpressionList { expressions });
                    copied.structured.push(structured(a, (!values.is_empty()).then_some(body)));
                }
                AnnotationBody::KeyValue(pairs) => {
                    let kv_pairs = (pairs.iter())
                        .map(|(key, value)| KeyValuePair {
                            key: key.to_string(),
                            value: self.expression(a, value),
                        })
                        .collect();
                    let body = structured_annotation::Body::KvPairList(KeyValuePairList { kv_pairs });
                    copied.structured.push(structured(a, Some(body)));
                }
                AnnotationBody::Empty | AnnotationBody::Free(_) => {
                    let name = a.name.as_str();
                    if !ELSEWHERE.contains(&name) && !except.contains(&name) {
                        copied.text.push(text(a, self.sources));
                    }
                }
            }
        }
        copied
    }

    fn expressions(&mut self, a: &Annotation, values: &[Value]) -> Vec<Expression> {
        values.iter().filter_map(|v| self.expression(a, v)).collect()
    }

    fn expression(&mut self, a: &Annotation, value: &Value) -> Option<Expression> {
        let value = match value {
            Value::Int(i) => i.to_i64().map(expression::Value::Int64Value),
            Value::Bool(b) => Some(expression::Value::BoolValue(*b)),
            Value::Str(s) => Some(expression::Value::StringValue(s.to_string())),
            Value::Error(_)
            | Value::MatchKind(_)
            | Value::EnumMember(..)
            | Value::Aggregate(_)
            | Value::Header { .. }
            | Value::Object(_) => None,
        };
        if value.is_none() {
            self.report(
                Diagnostic::new(
                    &codes::ANNOTATION_VALUE,
                    a.span,
                    format!("a value of `@{}` does not fit into P4Info", a.name),
                )
                .label("cannot be copied")
                .note("P4Info holds strings, bools and integers of 64 bits with sign"),
            );
        }
        value.map(|value| Expression { value: Some(value) })
    }

    /// Returns the number in `@id(n)`.
    pub fn id_annotation(&mut self, annotations: &Annotations) -> Option<u32> {
        let a = annotation(annotations, "id")?;
        let value = int_argument(a).and_then(|v| v.to_u32());
        if value.is_none() {
            self.report(
                Diagnostic::new(&codes::OBJECT_ID, a.span, "an id is a number of 32 bits")
                    .label("not such a number"),
            );
        }
        value
    }

    /// Returns the number of an annotation for a signed field of 32 bits.
    pub fn int32_annotation(&mut self, annotations: &Annotations, name: &str) -> Option<i32> {
        let a = annotation(annotations, name)?;
        let value = int_argument(a).and_then(|v| v.to_i32());
        if value.is_none() {
            self.report(
                Diagnostic::new(
                    &codes::SELECTOR_ANNOTATION,
                    a.span,
                    format!("`@{name}` takes an integer of at most 31 bits"),
                )
                .label("not such a number"),
            );
        }
        value
    }
}

/// Returns the single integer of an annotation in any form.
pub(super) fn int_argument(a: &Annotation) -> Option<&num_bigint::BigInt> {
    match &a.body {
        AnnotationBody::List(values) => match values.as_slice() {
            [Value::Int(i)] => Some(i),
            _ => None,
        },
        AnnotationBody::Free(_) => match a.tokens() {
            [AnnotationToken { kind: Kind::Int(lit), .. }] => Some(&lit.value),
            _ => None,
        },
        AnnotationBody::Empty | AnnotationBody::KeyValue(_) => None,
    }
}

/// `@brief` and `@description`.
pub(super) fn documentation(annotations: &Annotations) -> Option<Documentation> {
    let text = |name| annotation(annotations, name).and_then(Annotation::string);
    let (brief, description) = (text("brief"), text("description"));
    (brief.is_some() || description.is_some()).then(|| Documentation {
        brief: brief.unwrap_or_default().to_string(),
        description: description.unwrap_or_default().to_string(),
    })
}

fn structured(a: &Annotation, body: Option<structured_annotation::Body>) -> StructuredAnnotation {
    StructuredAnnotation { name: a.name.to_string(), source_location: None, body }
}

/// `@name`, `@name(tokens with spaces)` or, for annotations that the compiler understands, `@name(e, e)`.
fn text(a: &Annotation, sources: &SourceMap) -> String {
    let tokens = a.tokens();
    if tokens.is_empty() {
        return format!("@{}", a.name);
    }
    let words: Vec<String> = tokens.iter().map(|t| token(t, sources)).collect();
    if !EXPRESSIONS.contains(&a.name.as_str()) {
        return format!("@{}({})", a.name, words.join(" "));
    }
    let mut body = String::new();
    for (word, t) in words.iter().zip(tokens) {
        match (&t.kind, word.as_str()) {
            (Kind::Punct, ",") => body.push_str(", "),
            (Kind::Punct, "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>" | "++") => {
                body.push_str(&format!(" {word} "));
            }
            _ => body.push_str(word),
        }
    }
    format!("@{}({body})", a.name)
}

fn token(t: &AnnotationToken, sources: &SourceMap) -> String {
    match t.kind {
        Kind::Str => {
            let source = sources.literal(t.span);
            match source.starts_with('"') && source.ends_with('"') && source.len() >= 2 {
                true => source.to_string(),
                false => format!("\"{}\"", t.text.replace('\\', "\\\\").replace('"', "\\\"")),
            }
        }
        Kind::Int(_) | Kind::Word | Kind::Punct => t.text.to_string(),
    }
}
