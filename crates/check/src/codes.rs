//! The diagnostic codes of names, types and structure. Each has a page in `docs/diagnostics`.

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
    UNKNOWN_NAME "P1001" "unknown-name" Error "a name that is not declared";
    DUPLICATE_DECLARATION "P1002" "duplicate-declaration" Error "a name declared twice in one scope";
    NOT_A_TYPE "P1003" "not-a-type" Error "a value used where a type is expected";
    NOT_A_VALUE "P1004" "not-a-value" Error "a type used where a value is expected";
    USED_BEFORE_DECLARATION "P1005" "used-before-declaration" Error "a name used before its declaration";
    SELF_REFERENCE "P1006" "self-reference" Error "a declaration that refers to itself";
    UNKNOWN_MEMBER "P1007" "unknown-member" Error "a field, method or member that does not exist";

    FIELD_TYPE "P1101" "field-type" Error "a field of a type that its struct, header or union cannot hold";
    INVALID_WIDTH "P1102" "invalid-width" Error "a width or size that is not a usable number";
    TYPE_ARGUMENTS "P1103" "type-arguments" Error "a wrong number of type arguments";
    NOT_GENERIC "P1104" "not-generic" Error "type arguments given to a type that takes none";
    INVALID_TYPE_ARGUMENT "P1105" "invalid-type-argument" Error "a type that cannot be a type argument or element";
    ENUM_UNDERLYING "P1106" "enum-underlying-type" Error "an enum over something else than bit<W> or int<W>";
    ENUM_VALUE "P1107" "enum-value" Error "a serializable enum member whose value does not fit";
    NEWTYPE_BASE "P1108" "newtype-base" Error "a `type` over a type that it cannot wrap";
    MULTIPLE_VARBITS "P1109" "multiple-varbits" Error "a header with more than one varbit field";
    PARAMETER_TYPE "P1110" "parameter-type" Error "a parameter of a type that it cannot have";
    PARAMETER_DIRECTION "P1111" "parameter-direction" Error "a direction that this parameter cannot have";
    DEFAULT_VALUE "P1112" "default-value" Error "a default value or @optional where none can be";
    RETURN_TYPE "P1113" "return-type" Error "a return type that a function cannot have";
    VARIABLE_TYPE "P1114" "variable-type" Error "a variable or constant of a type that it cannot have";
    VALUE_SET_TYPE "P1115" "value-set-type" Error "a value set over a type that it cannot hold";
    CONSTRUCTOR_DECLARATION "P1116" "constructor-declaration" Error "an extern constructor declared wrongly";
    METHOD_REDEFINED "P1117" "method-redefined" Error "two methods or functions that calls cannot tell apart";

    ARGUMENT_COUNT "P1201" "argument-count" Error "an argument too many";
    MISSING_ARGUMENT "P1202" "missing-argument" Error "an argument that is missing";
    NAMED_ARGUMENTS "P1203" "named-arguments" Error "named arguments that do not fit";
    ARGUMENT_NOT_LVALUE "P1204" "argument-not-lvalue" Error "an out or inout argument that cannot be written";
    ARGUMENT_NOT_CONSTANT "P1205" "argument-not-constant" Error "an argument that must be known at compile time";
    CANNOT_INFER "P1206" "cannot-infer" Error "a type that cannot be inferred";
    NO_MATCHING_OVERLOAD "P1207" "no-matching-overload" Error "a call that matches no declaration of that name";
    AMBIGUOUS_CALL "P1208" "ambiguous-call" Error "a call that matches several declarations of that name";
    NOT_CALLABLE "P1209" "not-callable" Error "a call of something that cannot be called";
    CALL_NOT_ALLOWED "P1210" "call-not-allowed" Error "a call that is not allowed in this place";
    INVALID_ARGUMENT "P1211" "invalid-argument" Error "an argument that this parameter cannot take";
    ABSTRACT_METHODS "P1212" "abstract-methods" Error "abstract methods implemented wrongly or not at all";

    INVALID_OPERAND "P1301" "invalid-operand" Error "an operator applied to a type it is not defined for";
    WIDTH_MISMATCH "P1302" "width-mismatch" Error "an operator applied to different widths or signs";
    UNKNOWN_WIDTH "P1303" "unknown-width" Error "an integer literal that needs a width";
    DIVISION_BY_ZERO "P1304" "division-by-zero" Error "a division by zero";
    NEGATIVE_OPERAND "P1305" "negative-operand" Error "a division or shift with a negative number";
    INVALID_SHIFT "P1306" "invalid-shift" Error "a shift by something that cannot be a shift amount";
    NOT_CONSTANT "P1307" "not-constant" Error "an expression that must be known at compile time";
    TYPE_MISMATCH "P1308" "mismatched-types" Error "a value of one type where another is expected";
    INVALID_CAST "P1309" "invalid-cast" Error "a cast between types that has no meaning";
    INVALID_SLICE "P1310" "invalid-slice" Error "bit indices of a slice that do not fit";
    INVALID_INDEX "P1311" "invalid-index" Error "an index that does not fit";
    CONDITION_TYPE "P1312" "condition-type" Error "a condition that is not a bool";
    NOT_COMPARABLE "P1313" "not-comparable" Error "a comparison of things that cannot be compared";
    NOT_ASSIGNABLE "P1314" "not-assignable" Error "an assignment to something that cannot be assigned to";
    INITIALIZER "P1315" "initializer" Error "a list or struct initializer that does not fit its type";
    STACK_MEMBER "P1316" "stack-member" Error "a member of a header stack used where it cannot be";
    INVALID_THIS "P1317" "invalid-this" Error "`this` outside an abstract method";
    ASSERTION_FAILED "P1318" "static-assert" Error "a static_assert that is false";

    RETURN_MISMATCH "P1401" "return-mismatch" Error "a return statement that does not fit its function";
    MISSING_RETURN "P1402" "missing-return" Error "a function that may end without returning a value";
    STATEMENT_NOT_ALLOWED "P1403" "statement-not-allowed" Error "a statement that is not allowed in this place";
    SWITCH_LABEL "P1404" "switch-label" Error "a switch label that does not fit";
    SWITCH_SUBJECT "P1405" "switch-subject" Error "a switch over something that cannot be switched over";
    FOR_IN_COLLECTION "P1406" "for-in-collection" Error "a for loop over something that has no elements";

    NO_START_STATE "P1501" "no-start-state" Error "a parser without start state";
    RESERVED_STATE "P1502" "reserved-state" Error "a parser state with a built-in name";
    NOT_A_STATE "P1503" "not-a-state" Error "a transition to something that is not a state";
    SELECT_TYPE "P1504" "select-type" Error "a select over a type that cannot be matched";
    SELECT_KEYSET "P1505" "select-keyset" Error "a select case that does not fit its expression";
    PARSER_NEVER_ENDS "P1506" "parser-never-ends" Error "a parser that reaches neither accept nor reject";

    KEY_TYPE "P1601" "key-type" Error "a table key of a type that cannot be matched";
    MATCH_KIND "P1602" "match-kind" Error "a match kind that does not exist or does not fit";
    ACTION_NOT_LISTED "P1603" "action-not-listed" Error "an action that is not in the table's list";
    ACTION_ARGUMENTS "P1604" "action-arguments" Error "an action of a table with wrong arguments";
    TABLE_ENTRY "P1605" "table-entry" Error "a table entry that does not fit its table";
    ENTRY_PRIORITY "P1606" "entry-priority" Error "an entry priority that cannot be";
    TABLE_PROPERTY "P1607" "table-property" Error "a table property that is wrong, missing or repeated";
    NO_ACTION_MISSING "P1608" "no-action-missing" Error "a table that needs NoAction where there is none";
    KEY_NAME "P1609" "key-name" Error "a complex table key without @name";

    INVALID_INSTANTIATION "P1701" "invalid-instantiation" Error "an instantiation that cannot be";
    MAIN_NOT_PACKAGE "P1702" "main-not-package" Error "a `main` that is not a package";
    CONTROL_PLANE_NAME "P1703" "duplicate-control-plane-name" Error "two objects with one control-plane name";

    ANNOTATION "P1801" "annotation" Error "an annotation whose arguments do not fit";
    DUPLICATE_ANNOTATION "P1802" "duplicate-annotation" Error "a structured annotation given twice";

    UNUSED "P1901" "unused" Warning "something declared and never used";
    UNINITIALIZED_USE "P1902" "uninitialized-use" Warning "a variable read before it is written";
    INVALID_HEADER "P1903" "invalid-header" Warning "a field of a header that is not valid";
    SHADOW "P1904" "shadow" Warning "a declaration that hides another";
    MISMATCH "P1905" "mismatch" Warning "bits of a value that its mask cuts off";
    OVERFLOW "P1906" "overflow" Warning "a literal or shift amount that does not fit its width";
    DEPRECATED "P1907" "deprecated" Warning "the use of something deprecated";
    UNREACHABLE "P1908" "parser-transition" Warning "a state or statement that is never reached";
    DUPLICATE_PRIORITIES "P1909" "duplicate-priorities" Warning "two entries with one priority";
    UNINITIALIZED_OUT "P1910" "uninitialized-out-param" Warning "an out parameter that may not be written";
    MISSING "P1911" "missing" Warning "something that a complete program has";
    IGNORED_PROPERTY "P1912" "ignore-prop" Warning "a property or key that has no effect";
    NEVER_ACCEPTS "P1913" "unreachable" Warning "a parser that never accepts";
    ORDERING "P1914" "ordering" Warning "out arguments that overlap";
    ENTRIES_OUT_OF_ORDER "P1915" "entries-out-of-priority-order" Warning "entries that do not stand in the order of their priorities";
    COVERED_ENTRY "P1916" "keys" Warning "a table entry that can never match";
    INVALID "P1917" "invalid" Warning "a range or set that is empty";
    UNINITIALIZED "P1918" "uninitialized" Warning "the next element of a stack read before it is extracted";
    MULTI_EXTRACT "P1919" "multi-header-extract" Warning "a header extracted more than once";
    ATOMIC_ENTRIES "P1921" "atomic-entries" Warning "a block marked @atomic that changes several entries";
    UNKNOWN_WARNING "P1920" "unknown" Warning "a @noWarn with a name that is no warning";
    TABLE_CONFIG "P1922" "tableconfig" Warning "an annotation that tells T4P4S how to keep a table";

    TOO_WIDE "P3001" "too-wide" Error "a width or size beyond what is supported";
    TOO_DEEP "P3002" "too-deep" Error "more nesting or expansion than is supported";
    STRING_TOO_LONG "P3003" "string-too-long" Error "strings joined to more text than is supported";
}
