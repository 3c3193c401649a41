package io.homeostat.desired.remote;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.net.URI;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The examples of the reference: "Authenticating Requests: Using the Authorization Header" of Amazon S3. */
final class AwsSignatureTest {
    private static final AwsSignature SIGNATURE =
            new AwsSignature("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1");

    private static final Instant TIME = Instant.parse("2013-05-24T00:00:00Z");
    private static final String HOST = "https://examplebucket.s3.amazonaws.com/";

    @Test
    void anObjectIsRead() {
        assertEquals(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                        + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
                        + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
                authorization("GET", "test.txt", Map.of("range", "bytes=0-9"), ""));
    }

    @Test
    void anObjectIsWritten() {
        assertEquals(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                        + "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
                        + "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
                authorization(
                        "PUT",
                        AwsSignature.PATH.escape("test$file.text"),
                        Map.of("date", "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class", "REDUCED_REDUNDANCY"),
                        "Welcome to Amazon S3."));
    }

    @Test
    void objectsAreListed() {
        assertEquals(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                        + "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
                        + "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
                authorization("GET", "?max-keys=2&prefix=J", Map.of(), ""));
    }

    @Test
    void theKeyIsNotShown() {
        assertFalse(SIGNATURE.toString().contains("wJalr"), SIGNATURE::toString);
    }

    private static String authorization(String method, String path, Map<String, String> headers, String body) {
        return String.valueOf(SIGNATURE
                .headers(method, URI.create(HOST + path), headers, body.getBytes(UTF_8), TIME)
                .get("authorization"));
    }
}
