//! Roles of the tokens of a logical line, and the blanks between them.

use super::items::{Item, ItemKind};
use crate::lexer::Lexer;
use crate::token::TokenKind;

/// The part that an item plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Names, keywords, literals.
    Word,
    /// `(`, `[`, `{` and their ends.
    Open,
    Close,
    /// The end of the type in a cast.
    CastClose,
    AngleOpen,
    AngleClose,
    Comma,
    Semicolon,
    Dot,
    At,
    AnnotationBody,
    /// By strength, weakest first.
    Binary(u8),
    /// The second half of `>>` or `>>=`.
    Joined,
    Unary,
    Assign,
    Ternary,
    /// `:` and `+:` of a slice.
    Slice,
    /// `:` after a label, key or set of keys.
    Label,
    Comment,
    Directive,
}

/// Roles and spacing of a logical line.
pub(super) struct Shape {
    pub role: Vec<Role>,
    /// For each opening bracket (angle brackets too) the index of its end.
    pub close: Vec<usize>,
    /// True for each item that a blank precedes if the line is not broken there.
    pub space: Vec<bool>,
}

/// Brackets nested deeper than this are not laid out.
const DEPTH_MAX: usize = 100;

/// Determines roles and spacing of a line; `None` if its brackets do not match.
pub(super) fn shape(items: &[Item]) -> Option<Shape> {
    let n = items.len();
    let mut s = Shape { role: vec![Role::Word; n], close: vec![usize::MAX; n], space: vec![false; n] };
    match_brackets(items, &mut s.close)?;
    for i in 0..n {
        // Angle brackets are found from their first one; roles set ahead stay.
        if s.role[i] == Role::Word {
            s.role[i] = role(items, &mut s, i);
        }
    }
    colons(items, &mut s);
    for i in 1..n {
        s.space[i] = blank(items, &s, i) || would_merge(&items[i - 1], &items[i]);
    }
    Some(s)
}

fn match_brackets(items: &[Item], close: &mut [usize]) -> Option<()> {
    let mut open: Vec<usize> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let ItemKind::Token(kind) = item.kind else { continue };
        match kind {
            TokenKind::LParen | TokenKind::LBracket => open.push(i),
            // The brace that opens a block ends the line and has no partner in it.
            TokenKind::LBrace if i + 1 < items.len() => open.push(i),
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => {
                let opener = match kind {
                    TokenKind::RParen => TokenKind::LParen,
                    TokenKind::RBracket => TokenKind::LBracket,
                    _ => TokenKind::LBrace,
                };
                // A brace that closes a block begins the line.
                if !(i == 0 && kind == TokenKind::RBrace) {
                    let o = open.pop().filter(|o| items[*o].is(opener))?;
                    close[o] = i;
                }
            }
            _ => {}
        }
        if open.len() > DEPTH_MAX {
            return None;
        }
    }
    open.is_empty().then_some(())
}

/// Index of the significant item before `i`.
fn before(items: &[Item], i: usize) -> Option<usize> {
    (0..i).rev().find(|k| matches!(items[*k].kind, ItemKind::Token(_) | ItemKind::AnnotationBody))
}

fn after(items: &[Item], i: usize) -> Option<usize> {
    (i + 1..items.len()).find(|k| matches!(items[*k].kind, ItemKind::Token(_) | ItemKind::AnnotationBody))
}

/// Returns whether an expression may end with item `i`: a binary operator or a call then follows.
fn ends_operand(items: &[Item], role: &[Role], i: usize) -> bool {
    use TokenKind::*;
    match role[i] {
        Role::Word => !matches!(
            items[i].kind,
            ItemKind::Token(Return | In | If | Else | Transition | For | Switch | Const | Out | InOut)
        ),
        Role::Close | Role::AngleClose | Role::AnnotationBody => true,
        _ => false,
    }
}

fn role(items: &[Item], s: &mut Shape, i: usize) -> Role {
    use TokenKind::*;
    let kind = match items[i].kind {
        ItemKind::LineComment | ItemKind::BlockComment => return Role::Comment,
        ItemKind::Directive | ItemKind::Pragma => return Role::Directive,
        ItemKind::AnnotationBody => return Role::AnnotationBody,
        ItemKind::Token(k) => k,
    };
    let previous = before(items, i);
    let operand_before = previous.is_some_and(|p| ends_operand(items, &s.role, p));
    match kind {
        LParen => {
            if is_cast(items, s, i, operand_before) {
                s.role[s.close[i]] = Role::CastClose;
            }
            Role::Open
        }
        LBracket | LBrace => Role::Open,
        RParen | RBracket | RBrace => Role::Close,
        Comma => Role::Comma,
        Semicolon => Role::Semicolon,
        Dot => Role::Dot,
        At => Role::At,
        Lt => match opens_type_arguments(items, s, i) {
            Some(end) => {
                mark_angles(items, s, i, end);
                Role::AngleOpen
            }
            None => Role::Binary(7),
        },
        Gt => {
            let next = items.get(i + 1).filter(|n| !n.space);
            match next.map(|n| n.kind) {
                Some(ItemKind::Token(Gt)) => {
                    s.role[i + 1] = Role::Joined;
                    Role::Binary(11)
                }
                Some(ItemKind::Token(Ge)) => {
                    s.role[i + 1] = Role::Joined;
                    Role::Assign
                }
                _ => Role::Binary(7),
            }
        }
        Assign | AddAssign | SubAssign | MulAssign | DivAssign | ModAssign | AndAssign | OrAssign
        | XorAssign | AddSatAssign | SubSatAssign | ShlAssign => Role::Assign,
        Plus | Minus if !operand_before => Role::Unary,
        Not | Tilde => Role::Unary,
        DotDot => Role::Binary(3),
        Mask => Role::Binary(3),
        OrOr => Role::Binary(4),
        AndAnd => Role::Binary(5),
        EqEq | Ne => Role::Binary(6),
        Le | Ge => Role::Binary(7),
        Pipe => Role::Binary(8),
        Caret => Role::Binary(9),
        Amp => Role::Binary(10),
        Shl => Role::Binary(11),
        PlusPlus | Plus | Minus | AddSat | SubSat => Role::Binary(12),
        Star | Slash | Percent => Role::Binary(13),
        Question => Role::Ternary,
        PlusColon => Role::Slice,
        // Distinguished below.
        Colon => Role::Label,
        _ => Role::Word,
    }
}

/// Returns whether the parentheses are `(type)` before an operand.
fn is_cast(items: &[Item], s: &Shape, open: usize, operand_before: bool) -> bool {
    use TokenKind::*;
    let close = s.close[open];
    if operand_before || close == usize::MAX || close <= open + 1 {
        return false;
    }
    if before(items, open)
        .is_some_and(|p| matches!(items[p].kind, ItemKind::Token(If | For | Switch | Select)))
    {
        return false;
    }
    let Some(next) = after(items, close) else { return false };
    let ItemKind::Token(next) = items[next].kind else { return false };
    let base_type = matches!(
        items[open + 1].kind,
        ItemKind::Token(Bit | IntType | Bool | Varbit | Error | StringType | Tuple | List)
    );
    let only_a_name = items[open + 1..close]
        .iter()
        .all(|t| matches!(t.kind, ItemKind::Token(Ident | Dot | Lt | Gt | Comma | Bit | IntType | Int)))
        && items[open + 1].is_word()
        || items[open + 1].is(Dot);
    let begins_operand =
        matches!(next, Ident | Int | Str | True | False | This | Not | Tilde | Key | Apply | State | Invalid);
    let ambiguous = matches!(next, LParen | LBrace | Minus | Plus | Dot | Error);
    (base_type && (begins_operand || ambiguous))
        || (only_a_name && (begins_operand || (next == LBrace && close + 2 < items.len())))
}

/// Returns the index of the end of the type arguments that `<` at `i` opens; `None` if it means "less than".
fn opens_type_arguments(items: &[Item], s: &Shape, i: usize) -> Option<usize> {
    use TokenKind::*;
    let ItemKind::Token(kind) = items[before(items, i)?].kind else { return None };
    if matches!(kind, Bit | IntType | Varbit | Tuple | List | ValueSet) {
        return type_arguments_end(items, s, i, 0, true);
    }
    if !(kind == Ident || kind.is_keyword()) || items[i].space {
        return None;
    }
    let end = type_arguments_end(items, s, i, 0, false)?;
    match after(items, end).map(|a| items[a].kind) {
        // `a<b>c`: without a blank before `<`, the author means a type.
        Some(ItemKind::Token(Gt | Ge | Int | Str | Minus | Plus | Not | Tilde)) => None,
        _ => Some(end),
    }
}

fn type_arguments_end(items: &[Item], s: &Shape, open: usize, depth: usize, sizes: bool) -> Option<usize> {
    use TokenKind::*;
    if depth > DEPTH_MAX {
        return None;
    }
    let mut j = open + 1;
    while j < items.len() {
        match items[j].kind {
            ItemKind::LineComment | ItemKind::BlockComment => {}
            ItemKind::Token(Gt) => return Some(j),
            ItemKind::Token(Lt) => j = type_arguments_end(items, s, j, depth + 1, sizes)?,
            ItemKind::Token(LParen | LBracket) => j = s.close[j],
            ItemKind::Token(Ident | Int | Comma | Dot | Underscore) => {}
            ItemKind::Token(Plus | Minus | Star | Slash) if sizes => {}
            ItemKind::Token(k) if k.is_keyword() => {}
            _ => return None,
        }
        j = j.checked_add(1)?;
    }
    None
}

/// Marks the angle brackets from `open` to `end`, nested ones too.
fn mark_angles(items: &[Item], s: &mut Shape, open: usize, end: usize) {
    let mut stack = Vec::new();
    let mut j = open;
    while j <= end {
        match items[j].kind {
            ItemKind::Token(TokenKind::Lt) => {
                s.role[j] = Role::AngleOpen;
                stack.push(j);
            }
            ItemKind::Token(TokenKind::Gt) => {
                s.role[j] = Role::AngleClose;
                if let Some(o) = stack.pop() {
                    s.close[o] = j;
                }
            }
            // The contents of parentheses are an expression, which is marked separately.
            ItemKind::Token(TokenKind::LParen | TokenKind::LBracket) if s.close[j] <= end => j = s.close[j],
            _ => {}
        }
        j += 1;
    }
}

/// Distinguishes the colons of `?:`, of slices and of labels.
fn colons(items: &[Item], s: &mut Shape) {
    // For each open bracket: its kind and the number of `?` that wait for their `:`.
    let mut open = vec![(TokenKind::Eof, 0u32)];
    for (i, item) in items.iter().enumerate() {
        let ItemKind::Token(kind) = item.kind else { continue };
        let nested = open.len() > 1;
        let Some(top) = open.last_mut() else { return };
        match kind {
            TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace if s.close[i] != usize::MAX => {
                open.push((kind, 0));
            }
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace if nested => {
                open.pop();
            }
            TokenKind::Question => top.1 += 1,
            TokenKind::Colon if top.1 > 0 => {
                top.1 -= 1;
                s.role[i] = Role::Ternary;
            }
            TokenKind::Colon if top.0 == TokenKind::LBracket => s.role[i] = Role::Slice,
            _ => {}
        }
    }
}

/// Returns whether a blank separates the keyword from a following parenthesis.
fn keeps_distance(kind: ItemKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        ItemKind::Token(
            If | For | Switch | Return | In | Out | InOut | Const | Else | Transition | Int | Str
        )
    )
}

fn blank(items: &[Item], s: &Shape, i: usize) -> bool {
    let (a, b) = (i - 1, i);
    let (role_a, role_b) = (s.role[a], s.role[b]);
    let brace = |k: usize, kind: TokenKind| items[k].is(kind);
    let opens_tightly =
        |k: usize| s.role[k] == Role::AngleOpen || (s.role[k] == Role::Open && !brace(k, TokenKind::LBrace));
    // `> >` stays apart and `>>` together.
    if items[a].is(TokenKind::Gt) && (items[b].is(TokenKind::Gt) || items[b].is(TokenKind::Ge)) {
        return items[b].space;
    }
    match role_b {
        Role::Comment => return !opens_tightly(a),
        Role::Directive => return true,
        Role::Comma | Role::Semicolon | Role::Label | Role::Slice | Role::AnnotationBody | Role::Joined => {
            return false;
        }
        Role::AngleClose => return false,
        Role::Close | Role::CastClose => {
            return brace(b, TokenKind::RBrace) && role_a != Role::Open;
        }
        _ => {}
    }
    if opens_tightly(a) {
        return false;
    }
    match role_a {
        Role::Dot | Role::At | Role::Unary | Role::Slice | Role::CastClose => return false,
        Role::Comment
        | Role::Directive
        | Role::Comma
        | Role::Semicolon
        | Role::Label
        | Role::Binary(_)
        | Role::Joined
        | Role::Assign
        | Role::Ternary
        | Role::Open => return true,
        _ => {}
    }
    let operand_a = ends_operand(items, &s.role, a);
    match role_b {
        Role::Dot => !operand_a,
        Role::AngleOpen => false,
        Role::Open if brace(b, TokenKind::LParen) => {
            // A keyword after `@` is the name of an annotation.
            let is_annotation = a > 0 && items[a - 1].is(TokenKind::At);
            keeps_distance(items[a].kind) && !is_annotation || brace(a, TokenKind::RBrace)
        }
        Role::Open if brace(b, TokenKind::LBracket) => !operand_a,
        _ => true,
    }
}

/// Returns whether the two items would be lexed differently without a blank between them.
fn would_merge(a: &Item, b: &Item) -> bool {
    let (ItemKind::Token(ka), ItemKind::Token(kb)) = (a.kind, b.kind) else { return false };
    let alone = |k: TokenKind| {
        use TokenKind::*;
        matches!(k, LParen | RParen | LBracket | RBracket | RBrace | Semicolon | Comma | Str)
    };
    if alone(ka) || alone(kb) {
        return false;
    }
    let is_word = |i: &Item| i.is_word() || i.is(TokenKind::Int);
    if is_word(a) != is_word(b) && ka != TokenKind::At {
        return false;
    }
    let both = format!("{}{}", a.text, b.text);
    Lexer::new(&both).next().is_none_or(|r| r.hi as usize != a.text.len())
}
