package io.homeostat.desired.remote;

import static java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME;

import com.google.common.collect.ImmutableList;
import com.google.common.net.HttpHeaders;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.remote.BucketCredentials.Keys;
import io.homeostat.desired.remote.HttpGet.Answer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Objects in buckets of Google Cloud Storage (gs://BUCKET/OBJECT, by its XML API) and of S3 or what speaks like it (s3://BUCKET/OBJECT).
 * The version of an object is its generation there, and its ETag here. Not for use by several threads.
 */
public final class BucketClient {
    private static final URI AMAZON = URI.create("http://169.254.169.254/");
    private static final Pattern OBJECT = Pattern.compile("(gs|s3)://([^/]+)/?(.*)");
    private static final String GENERATION = "x-goog-generation";
    private static final String IF_GENERATION = "x-goog-if-generation-match";
    private static final String IF_OTHER_GENERATION = "x-goog-if-generation-not-match";
    private static final String BEGIN = "<Contents>";
    private static final String END = "</Contents>";

    /** Bytes that the names of objects may take, and what each of them takes beside, about. Of a fleet of 10,000 machines it is 3 MB. */
    private static final long MOST_LISTED = 16 << 20;

    private static final int OF_OBJECT = 200;

    /** Of 1,000 objects each. */
    private static final int MOST_PAGES = 1_000;

    private static final Pattern KEY = Pattern.compile("<Key>([^<]*)</Key>");
    private static final Pattern MODIFIED = Pattern.compile("<LastModified>([^<]*)</LastModified>");
    private static final Pattern NEXT = Pattern.compile("<NextContinuationToken>([^<]*)</NextContinuationToken>");
    private static final int OK = 200;
    private static final int NOT_MODIFIED = 304;

    private final @Nullable String endpoint;
    private final String region;
    private final BucketCredentials credentials;
    private final InstantSource clock;
    private final LargeSetLock large;

    /** @param metadata who gives tokens for Google Cloud Storage */
    public BucketClient(AgentConfig.Bucket config, MetadataServer metadata, InstantSource clock) {
        this(config, metadata, clock, new LargeSetLock());
    }

    /** @param large acquired before a large object is read */
    BucketClient(AgentConfig.Bucket config, MetadataServer metadata, InstantSource clock, LargeSetLock large) {
        this(config, metadata, AMAZON, clock, large);
    }

    BucketClient(
            AgentConfig.Bucket config, MetadataServer google, URI amazon, InstantSource clock, LargeSetLock large) {
        this.endpoint = config.endpoint();
        this.region = config.region();
        this.credentials = new BucketCredentials(config.credentials(), google, amazon, clock);
        this.clock = clock;
        this.large = large;
    }

    /** What an object is. */
    public sealed interface Read {
        /** The version that the caller has. */
        record Unchanged() implements Read {}

        /** There is none. */
        record Missing() implements Read {}

        record Content(String version, ByteString content) implements Read {}
    }

    /** Reads an object unless it is of the version that the caller has. */
    public Read get(String object, Optional<String> known) throws FetchFailure, InterruptedException {
        Place place = Place.of(object);
        Map<String, String> headers = new TreeMap<>();
        known.ifPresent(version -> headers.put(place.isGoogle() ? IF_OTHER_GENERATION : "if-none-match", version));
        return read(place, send("GET", place, "", headers, ByteString.EMPTY));
    }

    /** Reads an object of at most 1 MiB. */
    public Read getSmall(String object) throws FetchFailure, InterruptedException {
        Place place = Place.of(object);
        return read(place, send("GET", place, "", new TreeMap<>(), ByteString.EMPTY, HttpGet::sendForSmall));
    }

    private Read read(Place place, Answer answer) throws FetchFailure {
        return switch (answer.status()) {
            case NOT_MODIFIED -> new Read.Unchanged();
            case OK -> new Read.Content(version(place, answer), HttpGet.body(answer));
            case 404 -> new Read.Missing();
            default -> throw refused(answer);
        };
    }

    /**
     * Writes an object if it is still of a version.
     *
     * @param replaced empty: if it is not there
     * @return its version now; empty when somebody else was faster, and nothing was written
     */
    public Optional<String> put(String object, ByteString content, Optional<String> replaced)
            throws FetchFailure, InterruptedException {
        Place place = Place.of(object);
        Map<String, String> headers = new TreeMap<>();
        if (place.isGoogle()) {
            headers.put(IF_GENERATION, replaced.orElse("0"));
        } else if (replaced.isPresent()) {
            headers.put("if-match", replaced.get());
        } else {
            headers.put("if-none-match", "*");
        }
        return written(place, send("PUT", place, "", headers, content));
    }

    /** Writes an object, whatever was there. */
    public void put(String object, ByteString content) throws FetchFailure, InterruptedException {
        Place place = Place.of(object);
        if (written(place, send("PUT", place, "", new TreeMap<>(), content)).isEmpty()) {
            throw new FetchFailure("somebody else has written it at the same time; try again");
        }
    }

    private Optional<String> written(Place place, Answer answer) throws FetchFailure {
        return switch (answer.status()) {
            case OK -> Optional.of(version(place, answer));
            case 409, 412 -> Optional.empty();
            default -> throw refused(answer);
        };
    }

    /**
     * An object.
     *
     * @param url such as {@code gs://BUCKET/OBJECT}
     * @param age time since it was written, by the clock of the bucket
     */
    public record Listed(String url, Duration age) {}

    /** Returns the objects whose names begin so, in the order of the server, each once. */
    public ImmutableList<Listed> list(String prefix) throws FetchFailure, InterruptedException {
        return list(prefix, MOST_PAGES);
    }

    ImmutableList<Listed> list(String prefix, int mostPages) throws FetchFailure, InterruptedException {
        Place place = Place.of(prefix);
        Map<String, Listed> found = new LinkedHashMap<>();
        long room = MOST_LISTED;
        Optional<String> next = Optional.of("");
        for (int page = 0; next.isPresent(); page++) {
            if (page == mostPages) {
                throw endless();
            }
            String query =
                    (next.get().isEmpty() ? "" : "continuation-token=" + AwsSignature.QUERY.escape(next.get()) + "&")
                            + "list-type=2&prefix=" + AwsSignature.QUERY.escape(place.key());
            Answer answer = send(
                    "GET", new Place(place.scheme(), place.bucket(), ""), query, new TreeMap<>(), ByteString.EMPTY);
            if (answer.status() != OK) {
                throw refused(answer);
            }
            String listing = answer.body().toStringUtf8();
            try {
                Instant now = RFC_1123_DATE_TIME.parse(
                        answer.headers().firstValue(HttpHeaders.DATE).orElse(""), Instant::from);
                for (String object : objects(listing)) {
                    Instant modified = Instant.parse(first(MODIFIED, object));
                    String key = first(KEY, object);
                    if (!key.startsWith(place.key())) {
                        throw new FetchFailure("the server lists an object that was not asked for; is"
                                + " sources.bucket.endpoint right?");
                    }
                    String url = place.scheme() + "://" + place.bucket() + "/" + key;
                    room -= url.length() + OF_OBJECT;
                    if (room < 0) {
                        throw endless();
                    }
                    found.put(url, new Listed(url, Duration.between(modified, now)));
                }
            } catch (DateTimeException e) {
                throw new FetchFailure(
                        "the server's listing lacks a time (" + e.getMessage() + "); is sources.bucket.endpoint right?",
                        e);
            }
            next = NEXT.matcher(listing).results().findFirst().map(token -> text(token.group(1)));
        }
        return ImmutableList.copyOf(found.values());
    }

    private static FetchFailure endless() {
        return new FetchFailure(
                "the server lists more objects than a fleet has machines, or its listing has no end; name a prefix that"
                        + " only reports have, and look whether sources.bucket.endpoint is right");
    }

    private static List<String> objects(String listing) {
        List<String> objects = new ArrayList<>();
        for (int end = 0; ; ) {
            int begin = listing.indexOf(BEGIN, end);
            end = begin < 0 ? -1 : listing.indexOf(END, begin);
            if (end < 0) {
                return objects;
            }
            objects.add(listing.substring(begin + BEGIN.length(), end));
        }
    }

    private static String first(Pattern element, String xml) {
        return element.matcher(xml)
                .results()
                .findFirst()
                .map(found -> text(found.group(1)))
                .orElse("");
    }

    /** Of XML, in which servers write nothing but these. */
    private static String text(String escaped) {
        return escaped.replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&apos;", "'")
                .replace("&amp;", "&");
    }

    private static String version(Place place, Answer answer) throws FetchFailure {
        String header = place.isGoogle() ? GENERATION : HttpHeaders.ETAG;
        return HttpRequests.validator(answer.headers(), header)
                .orElseThrow(() -> new FetchFailure("the server's answer has no " + header + " of at most "
                        + HttpRequests.LONGEST_VALIDATOR + " characters; is sources.bucket.endpoint right?"));
    }

    private FetchFailure refused(Answer answer) {
        if (answer.status() == 401 || answer.status() == 403) {
            credentials.refused();
            return new FetchFailure("the server answers " + answer.status()
                    + ": it does not let this machine do it; look at sources.bucket.credentials and the rights of"
                    + " its account");
        }
        return new FetchFailure("the server answers " + answer.status() + answer.excerpt());
    }

    /** Sends a request in one of the ways of {@link HttpGet}. */
    private interface Sender {
        Answer send(HttpClient client, HttpRequest request) throws FetchFailure, InterruptedException;
    }

    private Answer send(String method, Place place, String query, Map<String, String> headers, ByteString body)
            throws FetchFailure, InterruptedException {
        return send(method, place, query, headers, body, (client, request) -> HttpGet.send(client, request, large));
    }

    private Answer send(
            String method, Place place, String query, Map<String, String> headers, ByteString body, Sender sender)
            throws FetchFailure, InterruptedException {
        URI url = url(place, query);
        byte[] bytes = body.toByteArray();
        Map<String, String> all = headers;
        if (place.isGoogle()) {
            credentials.token().ifPresent(token -> headers.put("authorization", "Bearer " + token));
        } else {
            Optional<Keys> keys = credentials.keys();
            if (keys.isPresent()) {
                Keys by = keys.get();
                if (!by.session().isEmpty()) {
                    headers.put("x-amz-security-token", by.session());
                }
                all = new AwsSignature(by.accessKey(), by.secretKey(), region)
                        .headers(method, url, headers, bytes, clock.instant());
            }
        }
        try (HttpClient client = HttpClients.open(null, "sources.bucket")) {
            HttpRequest.Builder request = HttpRequest.newBuilder(url)
                    .method(method, bytes.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(bytes));
            all.forEach(request::header);
            return sender.send(client, request.build());
        } catch (IllegalArgumentException e) {
            // It quotes a header, which may be a secret.
            throw new FetchFailure(
                    "nothing can be sent with this secret; correct what sources.bucket.credentials names");
        } catch (IOException e) {
            throw new FetchFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private URI url(Place place, String query) throws FetchFailure {
        String named = endpoint;
        String path = "/" + AwsSignature.PATH.escape(place.key());
        String base;
        if (named != null) {
            base = (named.endsWith("/") ? named.substring(0, named.length() - 1) : named) + "/" + place.bucket();
        } else if (place.isGoogle()) {
            base = "https://storage.googleapis.com/" + place.bucket();
        } else {
            base = "https://" + place.bucket() + ".s3." + region + ".amazonaws.com";
        }
        try {
            return URI.create(base + path + (query.isEmpty() ? "" : "?" + query));
        } catch (IllegalArgumentException e) {
            throw new FetchFailure("this is no place in a bucket; correct sources.bucket.url", e);
        }
    }

    private record Place(String scheme, String bucket, String key) {
        static Place of(String url) {
            Matcher parts = OBJECT.matcher(url);
            if (!parts.matches()) {
                throw new IllegalArgumentException("neither gs://BUCKET/OBJECT nor s3://BUCKET/OBJECT");
            }
            return new Place(parts.group(1), parts.group(2), parts.group(3));
        }

        boolean isGoogle() {
            return scheme.equals("gs");
        }
    }
}
