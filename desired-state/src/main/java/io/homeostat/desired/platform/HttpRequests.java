package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.CharMatcher;
import com.google.common.base.Strings;
import com.google.common.collect.ImmutableSet;
import com.google.common.net.InetAddresses;
import com.google.common.primitives.Ints;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Redaction;
import java.io.InputStream;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.ProtocolException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;

/** Clients of web servers, and requests to URLs that may name a user: what quotes a request's URL can't quote a password. */
public final class HttpRequests {
    /** Those that are not link-local: of Alibaba Cloud, Azure, AWS and Google Cloud. */
    private static final ImmutableSet<InetAddress> METADATA_SERVERS = Stream.of(
                    "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")
            .map(InetAddresses::forString)
            .collect(ImmutableSet.toImmutableSet());

    /** How an address begins that has one of IPv4 in its last four bytes (RFC 6052). */
    private static final String NAT64 = "64:ff9b::";

    /** Read by the JDK's client when it is first used. */
    private static final String MAX_FIELDS = "jdk.http.maxHeaderSize";

    /** What the fields of an answer may have, in bytes, with 32 for each of them; they are kept as long as its content is read. */
    private static final int MOST_OF_FIELDS = 64 << 10;

    static {
        if (System.getProperty(MAX_FIELDS) == null) {
            System.setProperty(MAX_FIELDS, Integer.toString(MOST_OF_FIELDS));
        }
        // The JDK's client takes a chunk of 80000000 bytes (hexadecimal) for one of a negative length, and then loops
        // for
        // ever, unless it checks what it asserts.
        ClassLoader.getPlatformClassLoader().setClassAssertionStatus("jdk.internal.net.http.ResponseContent", true);
    }

    /** The scheme and the authority of a URL; only in the latter may brackets stand. */
    private static final Pattern AUTHORITY = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*");

    private static final Pattern ESCAPE = Pattern.compile("%[0-9A-Fa-f]{2}");

    /** What may stand in a URL wherever it is meant (RFC 3986, section 2). */
    private static final CharMatcher ALLOWED = CharMatcher.inRange('a', 'z')
            .or(CharMatcher.inRange('A', 'Z'))
            .or(CharMatcher.inRange('0', '9'))
            .or(CharMatcher.anyOf("-._~:/?@!$&'()*+,;="));

    /** The most characters of a name in DNS (RFC 1035, section 2.3.4), with the dot at its end. */
    private static final int LONGEST_HOST = 254;

    private static final String BASIC = "Basic ";
    private static final HexFormat HEXADECIMAL = HexFormat.of().withUpperCase();

    /** The headers of requests that are secret. */
    private static final List<String> SECRET_HEADERS = List.of("Authorization", "x-amz-security-token");

    /** The most characters of a {@link #validator}. */
    public static final int LONGEST_VALIDATOR = 256;

    private HttpRequests() {}

    /**
     * A client that follows no redirect, for servers that may answer anything: headers have a bound, trailers are not read. Only
     * {@link HttpClient#shutdownNow} closes the connection of an answer that is not HTTP.
     */
    public static HttpClient.Builder client() {
        return HttpClient.newBuilder()
                .sslContext(bounded())
                // The client's HTTP/2 answers each PING, and keeps answers that the server does not read without end.
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER);
    }

    /** Returns the JDK's own context, which goes by the machine's authorities, with bounded engines. */
    private static SSLContext bounded() {
        try {
            return BoundedTls.of(SSLContext.getDefault());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM can't make secure connections: " + e.getMessage(), e);
        }
    }

    /** The content of an answer of such a server, as it comes; to read it fails where that is in chunks of a few bytes. */
    public static BodyHandler<InputStream> body() {
        return _ -> new CheckedBody();
    }

    /**
     * As the user that the URL names, if any.
     *
     * @throws IllegalArgumentException when nothing can be sent there; the message quotes the URL
     */
    public static HttpRequest.Builder authorized(URI url) {
        HttpRequest.Builder request = anonymous(url);
        credentials(url).ifPresent(user -> request.header("Authorization", user));
        return request;
    }

    /**
     * As nobody, whomever the URL names. Its fragment is not sent.
     *
     * @throws IllegalArgumentException when nothing can be sent there; the message quotes the URL
     */
    public static HttpRequest.Builder anonymous(URI url) {
        return HttpRequest.newBuilder(target(url));
    }

    /** The user that a URL names, for the header {@code Authorization} (RFC 7617). */
    public static Optional<String> credentials(URI url) {
        return Optional.ofNullable(url.getUserInfo())
                .map(user -> BASIC + Base64.getEncoder().encodeToString(user.getBytes(UTF_8)));
    }

    /**
     * Returns the header of an answer that names its version, such as ETag, for conditions of further requests. Empty also when it is longer
     * than any server makes it: servers refuse requests with headers of several kilobytes.
     */
    public static Optional<String> validator(HttpHeaders answer, String header) {
        return answer.firstValue(header).filter(HttpRequests::isValidator);
    }

    /** Returns whether a text is short enough for {@link #validator}. */
    public static boolean isValidator(String text) {
        return text.length() <= LONGEST_VALIDATOR;
    }

    /** Returns the beginning of a text of a server as it may be shown, without what nobody but the server may see of the request. */
    public static String quoted(HttpRequest request, String text) {
        return secrets(request).quoted(text);
    }

    /** Returns a URL that the server has sent as it may be shown. */
    public static String quoted(HttpRequest request, URI url) {
        return quoted(request, Redaction.url(url.toString()));
    }

    private static SentSecrets secrets(HttpRequest request) {
        SentSecrets secrets = new SentSecrets();
        for (String header : SECRET_HEADERS) {
            for (String value : request.headers().allValues(header)) {
                String credentials = value.substring(value.indexOf(' ') + 1);
                secrets.learnList(credentials, CharMatcher.anyOf(" ,"));
                if (value.startsWith(BASIC)) {
                    secrets.learnUser(new String(Base64.getDecoder().decode(credentials), UTF_8));
                }
            }
        }
        String query = request.uri().getRawQuery();
        if (query != null) {
            secrets.learnQuery(query);
        }
        return secrets;
    }

    /**
     * Returns why a redirect to a host is not followed: at a link-local address, and some others, clouds have metadata servers that tell
     * secrets to whoever asks from the machine. Empty when it may be followed; an address that is declared is meant.
     *
     * @param declared host of the URL that somebody declared
     */
    public static Optional<String> refusedRedirect(String declared, String host) {
        if (host.equalsIgnoreCase(declared)) {
            return Optional.empty();
        }
        try {
            return Arrays.stream(InetAddress.getAllByName(host))
                    .map(HttpRequests::translated)
                    .filter(address -> address.isLinkLocalAddress() || METADATA_SERVERS.contains(address))
                    .findFirst()
                    .map(address -> "the server redirects to " + host + ", which is "
                            + (address.isLinkLocalAddress()
                                    ? "the link-local address "
                                    : "a cloud's metadata server at ")
                            + address.getHostAddress()
                            + "; no redirect to it is followed, declare it in the URL itself if it is meant");
        } catch (UnknownHostException e) {
            // Whoever connects to it says so.
            return Optional.empty();
        }
    }

    /** The IPv4 address that a network may make of one of IPv6 (NAT64, 6to4 and the like). */
    private static InetAddress translated(InetAddress address) {
        if (!(address instanceof Inet6Address v6)) {
            return address;
        }
        byte[] bytes = v6.getAddress();
        if (InetAddresses.toAddrString(v6).startsWith(NAT64)) {
            return InetAddresses.fromInteger(Ints.fromBytes(bytes[12], bytes[13], bytes[14], bytes[15]));
        }
        return InetAddresses.hasEmbeddedIPv4ClientAddress(v6)
                ? InetAddresses.getEmbeddedIPv4ClientAddress(v6)
                : address;
    }

    /** Returns whether an answer with a status is to be followed to its Location. */
    public static boolean isRedirect(int status) {
        return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    }

    /**
     * Returns where a redirect leads.
     *
     * @throws ProtocolException when that can't be fetched; its message says why and may be shown
     */
    public static URI redirected(URI from, HttpHeaders answer) throws ProtocolException {
        String location = answer.firstValue("Location").orElse("").strip();
        if (location.isEmpty()) {
            throw new ProtocolException("the server redirects without saying where: its answer has no Location");
        }
        URI to;
        try {
            to = from.resolve(new URI(encoded(location)));
        } catch (URISyntaxException e) {
            throw new ProtocolException("the server redirects to something that is not a URL");
        }
        Optional<String> unusable = unusableHost(to);
        if (unusable.isPresent()) {
            throw new ProtocolException("the server redirects to " + unusable.get());
        }
        return to;
    }

    /**
     * Percent-encodes what RFC 3986 does not allow in a URL, as browsers and curl do.
     *
     * @param url with a character for each byte, as the JDK's client has it
     */
    private static String encoded(String url) {
        Matcher start = AUTHORITY.matcher(url);
        int endOfAuthority = start.lookingAt() ? start.end() : 0;
        StringBuilder encoded = new StringBuilder(url.length());
        boolean inFragment = false;
        for (int at = 0; at < url.length(); at++) {
            char character = url.charAt(at);
            boolean allowed = switch (character) {
                case '%' -> ESCAPE.matcher(url).region(at, url.length()).lookingAt();
                case '[', ']' -> at < endOfAuthority;
                case '#' -> !inFragment;
                default -> ALLOWED.matches(character);
            };
            inFragment |= character == '#';
            if (allowed) {
                encoded.append(character);
            } else {
                encoded.append('%').append(HEXADECIMAL.toHexDigits((byte) character));
            }
        }
        return encoded.toString();
    }

    /**
     * Returns what is wrong with the host that a URL of http or https names: the JDK's client takes no name that DNS does not have, such as
     * one with '_'. As the end of a sentence about what names it; empty when it can be fetched from.
     */
    public static Optional<String> unusableHost(URI url) {
        boolean isHttp = "http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme());
        if (!isHttp || (url.getHost() != null && url.getHost().length() <= LONGEST_HOST)) {
            return Optional.empty();
        }
        String authority = Strings.nullToEmpty(url.getRawAuthority());
        String host = authority.substring(authority.lastIndexOf('@') + 1).replaceFirst(":[0-9]*$", "");
        return Optional.of(
                host.isEmpty()
                        ? "no host; write one"
                        : "a host that can't be fetched from, as its name '" + BriefText.of(host) + "' "
                                + (host.contains("_") ? "has '_'" : "is none of DNS")
                                + "; use its address or another name");
    }

    /**
     * A URL without the user that it may name and without its fragment.
     *
     * @throws IllegalArgumentException when it names no host
     */
    public static URI target(URI url) {
        String authority = url.getRawAuthority();
        if (authority == null) {
            throw new IllegalArgumentException("no host");
        }
        String query = url.getRawQuery() == null ? "" : "?" + url.getRawQuery();
        return URI.create(url.getScheme() + "://" + authority.substring(authority.lastIndexOf('@') + 1)
                + url.getRawPath() + query);
    }
}
