//! Tokens for the parser: after preprocessing, without white space and comments.

use diagnostics::Span;
use smol_str::SmolStr;

/// One token.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// Spelling of identifiers, integers (as written) and unknown characters; content of strings (without
    /// quotes, escapes resolved). Empty for keywords and punctuation: see [`TokenKind::as_str`].
    pub text: SmolStr,
    /// True if no white space separates this token from the previous one (needed to split `>>`).
    pub joined: bool,
}

macro_rules! tokens {
    (words { $($word:ident = $wtext:literal,)* } puncts { $($punct:ident = $ptext:literal,)* }) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum TokenKind {
            Ident,
            Int,
            Str,
            /// A character (or broken literal) that begins no token; already reported, except in the free text of an
            /// annotation or pragma, where it is allowed.
            Unknown,
            /// End of a `@pragma` line: only after the tokens of a pragma.
            EndPragma,
            Eof,
            $($word,)*
            $($punct,)*
        }

        impl TokenKind {
            /// Returns the spelling of keywords and punctuation, and a description in angle brackets for
            /// other kinds.
            pub fn as_str(self) -> &'static str {
                match self {
                    TokenKind::Ident => "<identifier>",
                    TokenKind::Int => "<integer>",
                    TokenKind::Str => "<string>",
                    TokenKind::Unknown => "<unknown>",
                    TokenKind::EndPragma => "<end of pragma>",
                    TokenKind::Eof => "<end of file>",
                    $(TokenKind::$word => $wtext,)*
                    $(TokenKind::$punct => $ptext,)*
                }
            }

            pub fn keyword(text: &str) -> Option<TokenKind> {
                match text {
                    $($wtext => Some(TokenKind::$word),)*
                    _ => None,
                }
            }

            pub fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$word)|*)
            }

            /// All punctuation, for the lexer's longest match.
            pub const PUNCTUATION: &'static [(&'static str, TokenKind)] = &[$(($ptext, TokenKind::$punct),)*];
        }
    };
}

tokens! {
    words {
        Abstract = "abstract",
        Action = "action",
        Actions = "actions",
        Apply = "apply",
        Bit = "bit",
        Bool = "bool",
        Break = "break",
        Const = "const",
        Continue = "continue",
        Control = "control",
        Default = "default",
        Else = "else",
        Entries = "entries",
        Enum = "enum",
        Error = "error",
        Exit = "exit",
        Extern = "extern",
        False = "false",
        For = "for",
        Header = "header",
        HeaderUnion = "header_union",
        If = "if",
        In = "in",
        InOut = "inout",
        IntType = "int",
        Key = "key",
        List = "list",
        MatchKind = "match_kind",
        Out = "out",
        Package = "package",
        Parser = "parser",
        Priority = "priority",
        Return = "return",
        Select = "select",
        State = "state",
        StringType = "string",
        Struct = "struct",
        Switch = "switch",
        Table = "table",
        This = "this",
        Transition = "transition",
        True = "true",
        Tuple = "tuple",
        Type = "type",
        Typedef = "typedef",
        ValueSet = "value_set",
        Varbit = "varbit",
        Void = "void",
    }
    puncts {
        // `>>` and `>>=` are never one token: the parser joins adjacent `>` (specification, "Lexical constructs").
        Underscore = "_",
        Invalid = "{#}",
        Dots = "...",
        Mask = "&&&",
        AddSatAssign = "|+|=",
        SubSatAssign = "|-|=",
        AddSat = "|+|",
        SubSat = "|-|",
        ShlAssign = "<<=",
        DotDot = "..",
        Shl = "<<",
        AndAnd = "&&",
        OrOr = "||",
        EqEq = "==",
        Ne = "!=",
        Ge = ">=",
        Le = "<=",
        PlusPlus = "++",
        PlusColon = "+:",
        AddAssign = "+=",
        SubAssign = "-=",
        MulAssign = "*=",
        DivAssign = "/=",
        ModAssign = "%=",
        AndAssign = "&=",
        OrAssign = "|=",
        XorAssign = "^=",
        Plus = "+",
        Minus = "-",
        Star = "*",
        Slash = "/",
        Percent = "%",
        Pipe = "|",
        Amp = "&",
        Caret = "^",
        Tilde = "~",
        LParen = "(",
        RParen = ")",
        LBracket = "[",
        RBracket = "]",
        LBrace = "{",
        RBrace = "}",
        Lt = "<",
        Gt = ">",
        Not = "!",
        Colon = ":",
        Comma = ",",
        Question = "?",
        Dot = ".",
        Assign = "=",
        Semicolon = ";",
        At = "@",
        // `@pragma`: its tokens run to `EndPragma`.
        Pragma = "@pragma",
    }
}
