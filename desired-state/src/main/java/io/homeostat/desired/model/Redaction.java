package io.homeostat.desired.model;

import com.google.common.base.CharMatcher;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Takes out of a text what must not be shown. */
public final class Redaction {
    /** What stands for a secret where a declaration is shown. */
    public static final String MASK = "(masked)";

    private static final Pattern USER_INFO = Pattern.compile("^([A-Za-z][A-Za-z0-9+.-]*://)[^/@]*@");
    /**
     * Schemes are short; without a bound a text of letters alone would take the square of its length. So would one of many URLs without a
     * query, did each not match as a whole.
     */
    private static final Pattern URL_IN_TEXT =
            Pattern.compile("([A-Za-z][A-Za-z0-9+.-]{0,30}://[^\\s?\"'<>]*+)(\\?[^\\s\"'<>)]*+)?");

    private static final Pattern USER_INFO_IN_TEXT =
            Pattern.compile("([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\\s/?#\"'<>@]*@");

    /** The most characters of an excerpt. */
    private static final int LONGEST_EXCERPT = 300;

    private Redaction() {}

    /** A URL without query, fragment and user information; what a reader needs to recognise it stays. */
    public static String url(String url) {
        int end = CharMatcher.anyOf("?#").indexIn(url);
        String shown = USER_INFO.matcher(end < 0 ? url : url.substring(0, end)).replaceFirst("$1");
        return end < 0 ? shown : shown + "?...";
    }

    /** A text in which every URL is without query and user information; for messages of libraries that may quote one. */
    public static String text(String text) {
        String withoutQueries = URL_IN_TEXT
                .matcher(text)
                .replaceAll(url -> Matcher.quoteReplacement(url.group(1) + (url.group(2) == null ? "" : "?...")));
        return USER_INFO_IN_TEXT.matcher(withoutQueries).replaceAll("$1");
    }

    /** Returns the beginning of a text on one line, redacted as {@link #text} does; for what servers write, which may be long. */
    public static String excerpt(String text) {
        return VisibleText.cut(text(text.replaceAll("[\\p{Cntrl}\\s]+", " ").strip()), LONGEST_EXCERPT);
    }
}
