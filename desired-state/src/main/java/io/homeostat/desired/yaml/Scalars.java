package io.homeostat.desired.yaml;

import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.yaml.FieldType.Bytes;
import io.homeostat.desired.yaml.FieldType.Form;
import io.homeostat.desired.yaml.FieldType.Text;
import io.homeostat.desired.yaml.FieldType.Time;
import io.homeostat.desired.yaml.FieldType.Whole;
import io.homeostat.desired.yaml.FieldType.Word;
import io.homeostat.desired.yaml.Node.Scalar;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads single values for a {@link Binder}: null when one is wrong, which is reported then. */
final class Scalars {
    private static final String DURATIONS = "write a duration such as 500ms, 10s, 5m or 1h30m";
    private static final String PORTION = "write how many such as 3, or a percentage up to 100% such as 25%";
    private static final String CPU = "write a percentage of one core such as 20%, above 100% for several cores";

    private static final Pattern DAYS = Pattern.compile("[0-9.]{1,40} ?d(?:ays?)?");
    private static final Pattern FRACTION = Pattern.compile("[0-9]{1,20}\\.[0-9]{1,20} ?(?:ms|s|m|h)");
    private static final Pattern LONG_NUMBER = Pattern.compile("[0-9]{10,60}(?:ms|s|m|h)");
    private static final Pattern LARGE_SIZE = Pattern.compile("[0-9]{7,60}(?:[KMGT]i)?");
    private static final Pattern LARGE_SHARE = Pattern.compile("[0-9]{10,60}%");
    private static final Duration LONGEST = Duration.ofHours(999_999_999);
    private static final Size LARGEST = new Size(8_388_607L << 40);

    private static final String SIZES = "write a size such as 64Mi or 1Gi, or a number of bytes";

    private final Binder binder;
    private final @Nullable Path base;
    private final boolean sent;

    /**
     * For one binder.
     *
     * @param base the directory that paths start from; null: paths are refused
     * @param sent whether no person wrote the values
     */
    Scalars(Binder binder, @Nullable Path base, boolean sent) {
        this.binder = binder;
        this.base = base;
        this.sent = sent;
    }

    @Nullable
    Object text(Text type, boolean secret, Node node) {
        if (!(node instanceof Scalar scalar)) {
            return binder.mismatch(node, "text", "in quotes if need be");
        }
        String text = scalar.text();
        Form form = type.form() == null || !sent ? type.form() : type.form().inMessages();
        switch (scalar.meaning()) {
            case TEXT -> {}
            case NULL -> {
                return binder.mismatch(node, "text", "in quotes if need be");
            }
            default -> {
                // Quotes are no remedy for what would be refused in quotes, too.
                if (form == null || form.admits(text)) {
                    return binder.error(node, scalar.described() + " where text is wanted; put it in quotes");
                }
            }
        }
        boolean opaque = sent && form != null && form.anyInMessages();
        if (!opaque && text.indexOf('\0') >= 0) {
            return binder.error(node, "has a NUL character, which nothing can be handed; remove it");
        }
        if (form != null && !form.admits(text)) {
            String value = secret ? "this" : "'" + Binder.shown(text) + "'";
            return binder.error(node, value + " is not possible here; write " + form.words());
        }
        if (text.codePointCount(0, text.length()) < type.minLength()) {
            return binder.error(node, "is empty; write some text");
        }
        return text;
    }

    @Nullable
    Object url(Node node) {
        if (!(text(new Text(null, 0), true, node) instanceof String text)) {
            return null;
        }
        Locations.Resolved resolved = Locations.resolve(text, base);
        return resolved.error() == null ? resolved.url() : binder.error(node, resolved.error());
    }

    @Nullable
    Object whole(Whole type, Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() != Plain.INTEGER) {
            return binder.wrong(
                    node, "a whole number", "write one from " + type.min() + " to " + type.max() + ", without quotes");
        }
        Long number = number(scalar);
        if (number == null || number < type.min() || number > type.max()) {
            return binder.error(
                    node,
                    Binder.shown(scalar.text()) + " is out of range; write a number from " + type.min() + " to "
                            + type.max());
        }
        return type.max() <= Integer.MAX_VALUE ? (Object) number.intValue() : number;
    }

    @Nullable
    Object flag(Node node) {
        if (node instanceof Scalar scalar) {
            switch (scalar.meaning()) {
                case TRUE -> {
                    return true;
                }
                case FALSE -> {
                    return false;
                }
                default -> {}
            }
        }
        return binder.wrong(node, "true or false", "write true or false without quotes");
    }

    @Nullable
    Object word(Word type, Node node) {
        String choice = "write " + String.join(" or ", type.words().keySet());
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return binder.wrong(node, "a word", choice);
        }
        Enum<?> constant = scalar.meaning() == Plain.TEXT ? type.words().get(scalar.text()) : null;
        return constant == null
                ? binder.error(node, "'" + Binder.shown(scalar.text()) + "' is not possible here; " + choice)
                : constant;
    }

    @Nullable
    Object time(Time type, Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return binder.wrong(node, "a duration", DURATIONS);
        }
        if (scalar.meaning() == Plain.INTEGER) {
            return binder.error(node, Binder.shown(scalar.text()) + " has no unit; " + DURATIONS);
        }
        Optional<Duration> duration =
                scalar.meaning() == Plain.TEXT ? Notation.duration(scalar.text()) : Optional.empty();
        if (duration.isEmpty() && LONG_NUMBER.matcher(scalar.text()).matches()) {
            Duration most = Duration.ofMillis(type.max());
            return tooMuch(scalar, "long", Notation.text(most.compareTo(LONGEST) < 0 ? most : LONGEST));
        }
        if (duration.isEmpty()) {
            return binder.error(
                    node, "'" + Binder.shown(scalar.text()) + "' is not a duration; " + nearDuration(scalar.text()));
        }
        if (duration.get().toMillis() < type.min()) {
            return binder.error(
                    node,
                    Binder.shown(scalar.text()) + " is too short; write at least "
                            + Notation.text(Duration.ofMillis(type.min())));
        }
        if (duration.get().toMillis() > type.max()) {
            return tooMuch(scalar, "long", Notation.text(Duration.ofMillis(type.max())));
        }
        return duration.get();
    }

    private @Nullable Object tooMuch(Scalar scalar, String what, String most) {
        return binder.error(scalar, Binder.shown(scalar.text()) + " is too " + what + "; write at most " + most);
    }

    /** What to write in place of what would be a duration elsewhere. */
    private static String nearDuration(String text) {
        if (DAYS.matcher(text).matches()) {
            return "days have no unit here: write hours, such as 24h";
        }
        return FRACTION.matcher(text).matches() ? "write whole numbers, such as 1500ms or 1h30m" : DURATIONS;
    }

    @Nullable
    Object bytes(Bytes type, Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return binder.wrong(node, "a size", SIZES);
        }
        Optional<Size> size = switch (scalar.meaning()) {
            case INTEGER, TEXT -> Notation.size(scalar.text());
            default -> Optional.empty();
        };
        if (size.isEmpty()) {
            return LARGE_SIZE.matcher(scalar.text()).matches()
                    ? tooMuch(scalar, "large", Notation.text(LARGEST))
                    : binder.error(node, "'" + Binder.shown(scalar.text()) + "' is not a size; " + SIZES);
        }
        if (size.get().bytes() < type.min() || size.get().bytes() > type.max()) {
            return binder.error(
                    node,
                    Binder.shown(scalar.text()) + " is out of range; write at least "
                            + Notation.text(new Size(type.min()))
                            + (type.max() == Long.MAX_VALUE
                                    ? ""
                                    : " and at most " + Notation.text(new Size(type.max()))));
        }
        return size.get();
    }

    @Nullable
    Object share(Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return binder.wrong(node, "a share of a core", CPU);
        }
        Optional<Cpu> cpu = scalar.meaning() == Plain.TEXT ? Notation.cpu(scalar.text()) : Optional.empty();
        if (cpu.isPresent()) {
            return cpu.get();
        }
        return LARGE_SHARE.matcher(scalar.text()).matches()
                ? tooMuch(scalar, "large", "999999999%")
                : binder.error(node, "'" + Binder.shown(scalar.text()) + "' is not a share of a core; " + CPU);
    }

    @Nullable
    Object portion(Node node) {
        if (!(node instanceof Scalar scalar) || scalar.meaning() == Plain.NULL) {
            return binder.wrong(node, "a number or a percentage", PORTION);
        }
        Optional<Portion> portion = Notation.portion(scalar.text());
        return portion.isPresent()
                ? portion.get()
                : binder.error(
                        node, "'" + Binder.shown(scalar.text()) + "' is no number and no percentage; " + PORTION);
    }

    private static @Nullable Long number(Scalar scalar) {
        try {
            return Long.valueOf(scalar.text());
        } catch (NumberFormatException tooBig) {
            return null;
        }
    }

    /** Makes URLs of what documents name. No message quotes more of a URL than its scheme. */
    static final class Locations {
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
            }
            return HttpRequests.unusableHost(uri)
                    .map(unusable -> Resolved.bad("a URL that names " + unusable))
                    .orElseGet(() -> new Resolved(text, null));
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
}
