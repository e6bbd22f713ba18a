//! Files of the page, embedded in the binary; their sources are in `cli/web/`.

use axum::http::{HeaderName, header};

const PAGE: &str = include_str!("assets/index.html");
const SCRIPT: &str = include_str!("assets/page.js");
const STYLE: &str = include_str!("assets/page.css");
const ICON: &str = include_str!("assets/icon.svg");
const LICENSES: &str = include_str!("assets/LICENSES.txt");

/// Content security policy of the page. Permits the page's own script and style, images of the conversation,
/// and connections to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the media type and the content of a file with this name.
pub(super) fn file(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "" => ("text/html; charset=utf-8", PAGE),
        "page.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "page.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        "LICENSES.txt" => ("text/plain; charset=utf-8", LICENSES),
        _ => return None,
    })
}

/// Returns the headers of every response.
pub(super) fn headers() -> [(HeaderName, &'static str); 6] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ]
}
