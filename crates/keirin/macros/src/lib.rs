//! The attribute `#[keirin::atomic]`. Use it through the crate `keirin`.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// A function whose calls must each be atomic: others must not see or change what is halfway done. The name of the function is
/// its label in reports, or the one that is given: `#[keirin::atomic("transfer")]`.
#[proc_macro_attribute]
pub fn atomic(argument: TokenStream, item: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let label = match label(argument, &tokens) {
        Ok(label) => label,
        Err(message) => return error(message),
    };
    match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
            if tokens
                .iter()
                .any(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "async"))
            {
                return error(
                    "#[keirin::atomic] cannot mark an async function: it may go on in another thread",
                );
            }
            let mut new = region(label);
            new.extend(body.stream());
            let mut group = Group::new(Delimiter::Brace, new);
            group.set_span(body.span());
            tokens.push(group.into());
            tokens.into_iter().collect()
        }
        _ => error("#[keirin::atomic] marks a function with a body"),
    }
}

/// The label: a literal, or the name of the function.
fn label(argument: TokenStream, item: &[TokenTree]) -> Result<Literal, &'static str> {
    let mut argument = argument.into_iter();
    match (argument.next(), argument.next()) {
        (None, _) => {}
        (Some(TokenTree::Literal(label)), None) if label.to_string().starts_with('"') => return Ok(label),
        _ => return Err("the label of #[keirin::atomic] is a string literal"),
    }
    let is_function =
        |pair: &[TokenTree]| matches!(&pair[0], TokenTree::Ident(word) if word.to_string() == "fn");
    let name = item.windows(2).find(|pair| is_function(pair)).map(|pair| pair[1].to_string());
    name.map(|name| Literal::string(&name)).ok_or("#[keirin::atomic] marks a function")
}

/// `let _region = ::keirin::region(label);`
fn region(label: Literal) -> TokenStream {
    let ident = |name: &str| TokenTree::from(Ident::new(name, Span::mixed_site()));
    let path = |name: &str| {
        [
            Punct::new(':', Spacing::Joint).into(),
            Punct::new(':', Spacing::Alone).into(),
            TokenTree::from(Ident::new(name, Span::call_site())),
        ]
    };
    let mut tokens = vec![ident("let"), ident("_keirin_region"), Punct::new('=', Spacing::Alone).into()];
    tokens.extend(path("keirin"));
    tokens.extend(path("region"));
    tokens.push(Group::new(Delimiter::Parenthesis, TokenTree::from(label).into()).into());
    tokens.push(Punct::new(';', Spacing::Alone).into());
    tokens.into_iter().collect()
}

/// The compiler's own message.
fn error(message: &str) -> TokenStream {
    let ident = Ident::new("compile_error", Span::call_site());
    let text = TokenTree::from(Literal::string(message));
    [
        TokenTree::from(ident),
        Punct::new('!', Spacing::Alone).into(),
        Group::new(Delimiter::Parenthesis, text.into()).into(),
        Punct::new(';', Spacing::Alone).into(),
    ]
    .into_iter()
    .collect()
}
