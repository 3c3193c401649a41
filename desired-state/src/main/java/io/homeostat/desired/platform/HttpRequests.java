package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.http.HttpRequest;
import java.util.Base64;

/** Requests to URLs that may name a user: what quotes a request's URL can't quote a password. */
public final class HttpRequests {
    private HttpRequests() {}

    /**
     * As the user that the URL names, if any, by basic authentication (RFC 7617).
     *
     * @throws IllegalArgumentException when nothing can be sent there; the message quotes the URL
     */
    public static HttpRequest.Builder authorized(URI url) {
        HttpRequest.Builder request = anonymous(url);
        if (url.getUserInfo() != null) {
            String basic = Base64.getEncoder().encodeToString(url.getUserInfo().getBytes(UTF_8));
            request.header("Authorization", "Basic " + basic);
        }
        return request;
    }

    /**
     * As nobody, whomever the URL names. Its fragment is not sent.
     *
     * @throws IllegalArgumentException when nothing can be sent there; the message quotes the URL
     */
    public static HttpRequest.Builder anonymous(URI url) {
        String authority = url.getRawAuthority();
        if (authority == null) {
            throw new IllegalArgumentException("no host");
        }
        String query = url.getRawQuery() == null ? "" : "?" + url.getRawQuery();
        return HttpRequest.newBuilder(URI.create(url.getScheme() + "://"
                + authority.substring(authority.lastIndexOf('@') + 1) + url.getRawPath() + query));
    }
}
