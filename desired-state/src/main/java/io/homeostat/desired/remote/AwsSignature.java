package io.homeostat.desired.remote;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import com.google.common.net.PercentEscaper;
import java.net.URI;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Signs requests to S3 and what speaks like it (AWS Signature Version 4, headers). */
record AwsSignature(String accessKey, String secretKey, String region) {
    /** Of a path: all else is encoded (RFC 3986), as the signature wants it. */
    static final PercentEscaper PATH = new PercentEscaper("-_.~/", false);

    /** Of a key or value of a query. */
    static final PercentEscaper QUERY = new PercentEscaper("-_.~", false);

    static final String DATE = "x-amz-date";
    static final String CONTENT_SHA256 = "x-amz-content-sha256";

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final int DATE_LENGTH = 8;

    /**
     * The headers of a signed request: those that are given, and those that the signature adds.
     *
     * @param url whose path is encoded by {@link #PATH}, and whose query is sorted and encoded by {@link #QUERY}
     * @param headers that are signed; lower case
     */
    SortedMap<String, String> headers(String method, URI url, Map<String, String> headers, byte[] body, Instant now) {
        String time = TIME.format(now);
        String bodyHash = sha256(body);
        TreeMap<String, String> signed = new TreeMap<>(headers);
        signed.put(DATE, time);
        signed.put(CONTENT_SHA256, bodyHash);
        TreeMap<String, String> all = new TreeMap<>(signed);
        all.put("host", url.getRawAuthority());
        String names = String.join(";", all.keySet());
        String request = String.join(
                "\n",
                method,
                url.getRawPath().isEmpty() ? "/" : url.getRawPath(),
                url.getRawQuery() == null ? "" : url.getRawQuery(),
                all.entrySet().stream()
                        .map(header -> header.getKey() + ":" + header.getValue().strip() + "\n")
                        .collect(Collectors.joining()),
                names,
                bodyHash);
        String date = time.substring(0, DATE_LENGTH);
        String scope = date + "/" + region + "/s3/aws4_request";
        String toSign = String.join("\n", "AWS4-HMAC-SHA256", time, scope, sha256(request.getBytes(UTF_8)));
        byte[] key = ("AWS4" + secretKey).getBytes(UTF_8);
        for (String part : new String[] {date, region, "s3", "aws4_request"}) {
            key = hmac(key, part);
        }
        signed.put(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=" + accessKey + "/" + scope + ",SignedHeaders=" + names + ",Signature="
                        + Hashing.hmacSha256(key).hashString(toSign, UTF_8));
        return signed;
    }

    private static byte[] hmac(byte[] key, String text) {
        return Hashing.hmacSha256(key).hashString(text, UTF_8).asBytes();
    }

    private static String sha256(byte[] bytes) {
        return Hashing.sha256().hashBytes(bytes).toString();
    }

    /** Without the keys. */
    @Override
    public String toString() {
        return "AwsSignature[" + region + "]";
    }
}
