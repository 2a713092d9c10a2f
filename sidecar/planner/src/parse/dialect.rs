//! MySQL's dialect for sqlparser, with MySQL's precedences.
//!
//! sqlparser's own binds XOR tighter than AND, `^` looser than `*` and `:=` like a
//! comparison, and knows no prefix `!`. A condition misread that way would send a statement to
//! one shard that belongs to all. What is not overridden here is `MySqlDialect`'s.

use std::any::TypeId;

use sqlparser::ast::{Expr, Statement, UnaryOperator};
use sqlparser::dialect::{Dialect, MySqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// MySQL as MySQL reads it.
#[derive(Debug)]
pub(super) struct Mysql;

const BASE: MySqlDialect = MySqlDialect {};

/// Looser than everything but the end of an expression.
const ASSIGNMENT: u8 = 1;

/// Answers yes-or-no questions as `MySqlDialect` does.
macro_rules! delegate {
    ($($question:ident)*) => {
        $(fn $question(&self) -> bool {
            BASE.$question()
        })*
    };
}

impl Dialect for Mysql {
    fn dialect(&self) -> TypeId {
        BASE.dialect()
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        let level = match &parser.peek_token_ref().token {
            Token::Assignment => ASSIGNMENT,
            Token::Word(word) if word.keyword == Keyword::XOR => {
                self.prec_value(Precedence::Or) + 1
            }
            Token::Caret => self.prec_value(Precedence::MulDivModOp) + 1,
            // Only with PIPES_AS_CONCAT; otherwise the tokens hold OR.
            Token::StringConcat => self.prec_value(Precedence::MulDivModOp) + 2,
            _ => return None,
        };
        Some(Ok(level))
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if !parser.consume_token(&Token::ExclamationMark) {
            return None;
        }
        let operand = parser.parse_subexpr(self.prec_value(Precedence::DoubleColon));
        Some(operand.map(|expr| Expr::UnaryOp {
            op: UnaryOperator::BangNot,
            expr: Box::new(expr),
        }))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        BASE.parse_infix(parser, expr, precedence)
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        BASE.parse_statement(parser)
    }

    fn is_table_factor_alias(
        &self,
        explicit: bool,
        keyword: &Keyword,
        parser: &mut Parser<'_>,
    ) -> bool {
        BASE.is_table_factor_alias(explicit, keyword, parser)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        BASE.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        BASE.is_identifier_part(ch)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        BASE.is_delimited_identifier_start(ch)
    }

    delegate! {
        supports_string_literal_backslash_escape
        supports_string_literal_concatenation
        ignores_wildcard_escapes
        supports_numeric_prefix
        supports_literal_prefix_in_qualified_name
        supports_bitwise_shift_operators
        supports_singular_value_keyword
        supports_multiline_comment_hints
        require_interval_qualifier
        supports_limit_comma
        supports_create_table_select
        supports_insert_set
        supports_user_host_grantee
        supports_table_hints
        requires_single_line_comment_whitespace
        supports_hash_comment
        supports_match_against
        supports_select_modifiers
        supports_set_names
        supports_comma_separated_set_assignments
        supports_alter_column_position
        supports_update_order_by
        supports_data_type_signed_suffix
        supports_data_type_zerofill_suffix
        supports_cross_join_constraint
        supports_double_ampersand_operator
        supports_binary_kw_as_cast
        supports_table_partitions
        supports_comment_optimizer_hint
        supports_constraint_keyword_without_name
        supports_key_column_option
        supports_group_by_with_modifier
        supports_left_associative_joins_without_parens
    }
}
