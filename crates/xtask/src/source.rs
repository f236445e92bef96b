//! Names and paths of one Rust file, read with `syn`.
//!
//! Code for tests (`#[cfg(test)]`, `#[test]`) is left out.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A path that the file names, such as `crate::load::Code` or `std::fs::read`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedPath {
    pub segments: Vec<String>,
    /// One-based.
    pub line: usize,
    pub kind: PathKind,
}

/// The place of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// In an expression, a type, a pattern or the arguments of a macro.
    Code,
    /// A private `use`.
    Import,
    /// A private `use` that ends in `*`.
    Glob,
    /// A `use` with a visibility: the path is offered to other modules.
    Reexport,
    /// The name of a macro that is called.
    Macro,
}

/// A name that a `use` brings into the module.
#[derive(Clone, Debug)]
pub struct Import {
    /// `*` for a glob.
    pub name: String,
    pub segments: Vec<String>,
}

/// Names and paths of one file.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub paths: Vec<UsedPath>,
    pub imports: Vec<Import>,
    /// Items that the file defines at its top level, macros included.
    pub items: BTreeSet<String>,
    /// Modules in other files that are only compiled for tests.
    pub test_modules: Vec<String>,
}

impl Source {
    pub fn parse(text: &str) -> syn::Result<Source> {
        let file = syn::parse_file(text)?;
        let mut reader = Reader { source: Source::default(), inline_depth: 0 };
        for item in &file.items {
            if let Some(name) = item_name(item).filter(|_| !is_test(item)) {
                reader.source.items.insert(name);
            }
        }
        reader.visit_file(&file);
        Ok(reader.source)
    }
}

struct Reader {
    source: Source,
    /// Number of `mod name { ... }` around the current place.
    inline_depth: usize,
}

impl Reader {
    fn add(&mut self, mut segments: Vec<String>, line: usize, kind: PathKind) {
        let n_supers = segments.iter().take_while(|s| *s == "super").count();
        if n_supers > 0 {
            // Within an inline module the first `super` is this file.
            if n_supers <= self.inline_depth {
                return;
            }
            segments.drain(..self.inline_depth);
        }
        self.source.paths.push(UsedPath { segments, line, kind });
    }

    fn use_tree(&mut self, tree: &syn::UseTree, prefix: &[String], kind: PathKind) {
        let line = tree.span().start().line;
        let mut segments = prefix.to_vec();
        let name = match tree {
            syn::UseTree::Path(path) => {
                segments.push(path.ident.to_string());
                return self.use_tree(&path.tree, &segments, kind);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.use_tree(tree, prefix, kind);
                }
                return;
            }
            syn::UseTree::Glob(_) => "*".to_string(),
            syn::UseTree::Rename(rename) => {
                segments.push(rename.ident.to_string());
                rename.rename.to_string()
            }
            syn::UseTree::Name(name) => {
                segments.push(name.ident.to_string());
                name.ident.to_string()
            }
        };
        if segments.len() > 1 && segments.last().is_some_and(|s| s == "self") {
            segments.pop();
        }
        let name = if name == "self" { segments.last().cloned().unwrap_or_default() } else { name };
        let kind = if name == "*" && kind == PathKind::Import { PathKind::Glob } else { kind };
        self.add(segments.clone(), line, kind);
        if self.inline_depth == 0 {
            self.source.imports.push(Import { name, segments });
        }
    }

    /// Paths in the arguments of a macro, of which `syn` knows only tokens.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut segments: Vec<String> = Vec::new();
        let mut line = 0;
        let mut n_colons = 0;
        for token in tokens {
            match &token {
                TokenTree::Ident(ident) => {
                    if n_colons != 2 {
                        self.flush(&mut segments, line);
                        line = ident.span().start().line;
                    }
                    segments.push(ident.to_string());
                    n_colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => n_colons += 1,
                TokenTree::Punct(punct)
                    if punct.as_char() == '!' && n_colons == 0 && !segments.is_empty() =>
                {
                    self.add(std::mem::take(&mut segments), line, PathKind::Macro);
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.flush(&mut segments, line);
                    n_colons = 0;
                }
                TokenTree::Group(group) => {
                    self.flush(&mut segments, line);
                    n_colons = 0;
                    self.tokens(group.stream());
                }
            }
        }
        self.flush(&mut segments, line);
    }

    fn flush(&mut self, segments: &mut Vec<String>, line: usize) {
        if !segments.is_empty() {
            self.add(std::mem::take(segments), line, PathKind::Code);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test(item) {
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
            {
                self.source.test_modules.push(module.ident.to_string());
            }
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.inline_depth += 1;
        visit::visit_item_mod(self, module);
        self.inline_depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_private = matches!(item.vis, syn::Visibility::Inherited);
        let kind = if is_private { PathKind::Import } else { PathKind::Reexport };
        self.use_tree(&item.tree, &[], kind);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.add(segments, path.span().start().line, PathKind::Code);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let segments = call.path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.add(segments, call.path.span().start().line, PathKind::Macro);
        self.tokens(call.tokens.clone());
    }
}

fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || matches!(&attribute.meta, syn::Meta::List(list)
                if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
    })
}

fn item_name(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
