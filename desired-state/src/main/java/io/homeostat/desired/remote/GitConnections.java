package io.homeostat.desired.remote;

import com.google.common.base.Throwables;
import com.google.common.net.HttpHeaders;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.platform.SentSecrets;
import java.io.IOException;
import java.net.Proxy;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.http.HttpClient;
import java.util.Optional;
import org.eclipse.jgit.errors.UnsupportedCredentialItem;
import org.eclipse.jgit.transport.CredentialItem;
import org.eclipse.jgit.transport.CredentialsProvider;
import org.eclipse.jgit.transport.Transport;
import org.eclipse.jgit.transport.TransportHttp;
import org.eclipse.jgit.transport.URIish;
import org.eclipse.jgit.transport.UsernamePasswordCredentialsProvider;
import org.eclipse.jgit.transport.http.HttpConnection;
import org.eclipse.jgit.transport.http.HttpConnectionFactory;
import org.jspecify.annotations.Nullable;

/**
 * Connections of JGit that follow no redirect to a link-local address, and tell a login to nobody but the declared server.
 *
 * @param declared URL that somebody declared
 * @param client goes by the same proxies as JGit
 */
record GitConnections(URIish declared, HttpClient client, AnswerLimit limit) implements HttpConnectionFactory {
    private static final String SETTING = "sources.git";

    /**
     * Reads the password of a login; null without one.
     *
     * @param sent learns what the server is sent
     */
    static @Nullable CredentialsProvider login(AgentConfig.Git config, SentSecrets sent) throws FetchFailure {
        learnUrl(config.url(), sent);
        AgentConfig.Login who = config.login();
        if (who == null) {
            return null;
        }
        String password = HttpsFetcher.secret(who.passwordFile(), SETTING + ".login.passwordFile");
        sent.learnUser(who.user() + ":" + password);
        return new UsernamePasswordCredentialsProvider(who.user(), password);
    }

    private static void learnUrl(String url, SentSecrets sent) {
        int query = url.indexOf('?');
        if (query >= 0) {
            sent.learnQuery(url.substring(query + 1));
        }
        try {
            URIish parsed = new URIish(url);
            if (parsed.getPass() != null) {
                sent.learnUser(parsed.getUser() + ":" + parsed.getPass());
            } else if (parsed.getUser() != null) {
                sent.learn(parsed.getUser());
            }
        } catch (URISyntaxException e) {
            // Nothing is sent there, and JGit says so.
        }
    }

    /** Returns what is at the bottom of a failure, as it may be shown: above, libraries repeat the URL. */
    static String words(Exception e, SentSecrets sent) {
        Throwable cause = Throwables.getRootCause(e);
        String message = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
        return sent.quoted(message.lines().findFirst().orElse(""));
    }

    /** Has a transport over HTTP make such connections. */
    static void use(Transport transport, HttpClient client, AnswerLimit limit, @Nullable CredentialsProvider login) {
        if (transport instanceof TransportHttp http) {
            GitConnections connections = new GitConnections(http.getURI(), client, limit);
            http.setHttpConnectionFactory(connections);
            http.setCredentialsProvider(login == null ? null : connections.new DeclaredServer(login));
        }
    }

    @Override
    public HttpConnection create(URL url) throws IOException {
        Optional<String> refused = HttpRequests.refusedRedirect(declared.getHost(), url.getHost());
        if (refused.isPresent()) {
            throw new IOException(refused.get());
        }
        BoundedConnection connection = new BoundedConnection(client, url, limit);
        if (!isDeclared(url.getProtocol(), url.getHost(), url.getPort())) {
            connection.withhold(HttpHeaders.AUTHORIZATION);
        }
        return connection;
    }

    @Override
    public HttpConnection create(URL url, Proxy proxy) throws IOException {
        return create(url);
    }

    private boolean isDeclared(@Nullable String scheme, @Nullable String host, int port) {
        return declared.getScheme().equalsIgnoreCase(scheme)
                && declared.getHost().equalsIgnoreCase(host)
                && declared.getPort() == port;
    }

    /** Tells a login to the declared server alone. */
    private final class DeclaredServer extends CredentialsProvider {
        private final CredentialsProvider login;

        DeclaredServer(CredentialsProvider login) {
            this.login = login;
        }

        @Override
        public boolean isInteractive() {
            return false;
        }

        @Override
        public boolean supports(CredentialItem... items) {
            return login.supports(items);
        }

        @Override
        public boolean get(URIish asked, CredentialItem... items) {
            if (isDeclared(asked.getScheme(), asked.getHost(), asked.getPort())) {
                return login.get(asked, items);
            }
            throw new UnsupportedCredentialItem(
                    new URIish()
                            .setScheme(asked.getScheme())
                            .setHost(asked.getHost())
                            .setPort(asked.getPort()),
                    "the server redirects there, and a login is wanted, which is told to the server of " + SETTING
                            + ".url alone; correct that");
        }
    }
}
