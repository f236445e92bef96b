//! The diagnostic codes of what a control plane can see. Each has a page in `docs/diagnostics`.

use diagnostics::{Code, CodeInfo, Severity};

macro_rules! codes {
    ($($ident:ident $id:literal $name:literal $severity:ident $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub static $ident: CodeInfo = CodeInfo {
                id: $id,
                name: $name,
                default_severity: Severity::$severity,
                summary: $summary,
            };
        )*
        /// All codes of this crate, by number.
        pub static ALL: &[Code] = &[$(&$ident),*];
    };
}

codes! {
    OBJECT_ID "P2101" "object-id" Error "an @id that an object or a part of it cannot have";
    CONTROL_PLANE_TYPE "P2102" "control-plane-type" Error "a type that the control plane cannot handle";
    EXTERN_PROPERTY "P2103" "extern-property" Error "a table property that names no fitting extern";
    EXTERN_ARGUMENT "P2104" "extern-argument" Error "a size or unit that is not known";
    TRANSLATION "P2105" "p4runtime-translation" Error "a @p4runtime_translation that cannot be understood";
    PACKAGE_PROPERTY "P2106" "package-property" Error "a @pkginfo or @platform_property that cannot be understood";
    ACTION_SCOPE "P2107" "action-scope" Error "an action that nothing could use";
    ENTRY_KEY "P2108" "entry-key" Error "a key of an entry that P4Runtime cannot express";
    ENTRY_ARGUMENT "P2109" "entry-argument" Error "an action argument whose value is not known";
    PRIORITY_RANGE "P2110" "priority-range" Error "an entry priority that does not fit";
    SELECTOR_ANNOTATION "P2111" "selector-annotation" Error "an annotation of an action selector that cannot be understood";
    ANNOTATION_VALUE "P2112" "annotation-value" Error "an annotation value that P4Info cannot hold";
    ARCHITECTURE_VERSION "P2113" "architecture-version" Error "a version of an architecture that does not exist";

    NO_MAIN "P2151" "missing" Warning "a program without `main`";
    IGNORED_ANNOTATION "P2152" "ignored-annotation" Warning "an annotation that has no effect here";
    IGNORED_BITS "P2153" "ignored-bits" Warning "bits of a key that its mask hides";
    UNNAMED_DIGEST "P2156" "unnamed-digest" Warning "a digest whose type has no name";
    UNKNOWN_ARCHITECTURE "P2157" "unknown-architecture" Warning "an architecture whose externs are not known";
}
