package io.homeostat.desired.yaml;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Makes URLs of what documents name. No message quotes more of a URL than its scheme. */
final class Locations {
    /** A URL, or what is wrong with the text; exactly one of them is there. */
    record Resolved(@Nullable String url, @Nullable String error) {
        static Resolved bad(String error) {
            return new Resolved(null, error);
        }
    }

    private Locations() {}

    /** @param base the directory that a path starts from; null: paths are refused */
    static Resolved resolve(String text, @Nullable Path base) {
        if (text.isEmpty()) {
            return Resolved.bad("is empty; write a URL (https, http, file) or a path");
        }
        int colon = endOfScheme(text);
        if (colon < 0) {
            return path(text, base);
        }
        String scheme = text.substring(0, colon).toLowerCase(Locale.ROOT);
        return switch (scheme) {
            case "https", "http", "file" -> url(text, scheme);
            default ->
                Resolved.bad("scheme '" + Binder.shown(scheme)
                        + "' is not supported; write a URL with https, http or file, or a path");
        };
    }

    private static Resolved url(String text, String scheme) {
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException e) {
            return Resolved.bad(
                    "not a URL: " + e.getReason() + " at character " + (e.getIndex() + 1) + "; percent-encode it");
        }
        if (scheme.equals("file")) {
            boolean local =
                    uri.getRawAuthority() == null || uri.getRawAuthority().equals("localhost");
            if (!local || uri.getRawPath() == null || !uri.getRawPath().startsWith("/")) {
                return Resolved.bad("not the URL of a local file; write file:///absolute/path, or just the path");
            }
            if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
                return Resolved.bad("a file URL has no query; write a '?' in a name as %3F and a '#' as %23");
            }
        } else if (uri.getHost() == null || uri.getHost().isEmpty()) {
            return Resolved.bad("a URL without a host, or with one that is no name; write " + scheme + "://HOST/PATH");
        }
        return new Resolved(text, null);
    }

    private static Resolved path(String text, @Nullable Path base) {
        if (base == null) {
            return Resolved.bad("a path, and no directory it could start from; write a URL");
        }
        try {
            Path path = base.resolve(text).toAbsolutePath().normalize();
            return new Resolved(new URI("file", "", path.toString(), null, null).toASCIIString(), null);
        } catch (InvalidPathException | URISyntaxException e) {
            return Resolved.bad("not a path: " + e.getMessage());
        }
    }

    /** RFC 3986, section 3.1; -1 when the text has no scheme. */
    private static int endOfScheme(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == ':') {
                return i == 0 ? -1 : i;
            }
            boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            boolean other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
            if (!letter && !(other && i > 0)) {
                return -1;
            }
        }
        return -1;
    }
}
