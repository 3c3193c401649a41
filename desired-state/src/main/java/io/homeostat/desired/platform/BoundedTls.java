package io.homeostat.desired.platform;

import java.nio.ByteBuffer;
import java.security.KeyManagementException;
import java.security.SecureRandom;
import java.util.List;
import java.util.function.BiFunction;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * TLS whose engines bound what comes beside content, and what short records take. The JDK keeps each message of a handshake, and each one
 * after it (NewSessionTicket, KeyUpdate), for as long as the connection lives.
 */
final class BoundedTls extends SSLContextSpi {
    /** Bytes of a connection, handshake included: a chain of certificates may have some 32 KB, and little comes after it. */
    private static final long MOST_BYTES = 256 << 10;

    /** Records of a connection, of any length. */
    private static final int MOST_RECORDS = 1_000;

    private final SSLContext context;

    private BoundedTls(SSLContext context) {
        this.context = context;
    }

    /** Returns the same context, with engines that are bounded so. */
    static SSLContext of(SSLContext context) {
        return new SSLContext(new BoundedTls(context), context.getProvider(), context.getProtocol()) {};
    }

    @Override
    protected void engineInit(
            KeyManager @Nullable [] keys, TrustManager @Nullable [] trust, @Nullable SecureRandom random)
            throws KeyManagementException {
        throw new KeyManagementException("it is initialized already");
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
        throw new UnsupportedOperationException("sockets have no engine to bound");
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
        throw new UnsupportedOperationException("sockets have no engine to bound");
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
        return new Engine(context.createSSLEngine());
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
        return new Engine(context.createSSLEngine(host, port));
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
        return context.getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
        return context.getClientSessionContext();
    }

    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
        return context.getDefaultSSLParameters();
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
        return context.getSupportedSSLParameters();
    }

    private static final class Engine extends SSLEngine {
        private final SSLEngine engine;
        private long bytes;
        private int records;

        /** The result of a record without content that has come after content; the next call returns it. */
        private @Nullable SSLEngineResult held;

        /** The failure of a record that has come after content; the next calls throw it. */
        private @Nullable SSLException failure;

        Engine(SSLEngine engine) {
            super(engine.getPeerHost(), engine.getPeerPort());
            this.engine = engine;
        }

        /**
         * Puts as many records into the buffers as fit: the JDK's client makes buffers of 16 KB for each result, and queues them, however
         * short the records are.
         */
        @Override
        public SSLEngineResult unwrap(ByteBuffer from, ByteBuffer[] to, int offset, int length) throws SSLException {
            SSLException failed = failure;
            if (failed != null) {
                throw failed;
            }
            SSLEngineResult result = held;
            if (result != null) {
                held = null;
                from.position(from.position() + result.bytesConsumed());
                return result;
            }
            result = unwrapRecord(from, to, offset, length);
            while (isContent(result) && from.hasRemaining()) {
                SSLEngineResult next;
                try {
                    next = unwrapRecord(from, to, offset, length);
                } catch (SSLException e) {
                    failure = e;
                    return result;
                }
                if (!isContent(next)) {
                    if (next.bytesConsumed() > 0) {
                        from.position(from.position() - next.bytesConsumed());
                        held = next;
                    }
                    return result;
                }
                result = new SSLEngineResult(
                        next.getStatus(),
                        next.getHandshakeStatus(),
                        result.bytesConsumed() + next.bytesConsumed(),
                        result.bytesProduced() + next.bytesProduced());
            }
            return result;
        }

        private static boolean isContent(SSLEngineResult result) {
            return result.getStatus() == SSLEngineResult.Status.OK
                    && result.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.NOT_HANDSHAKING
                    && result.bytesProduced() > 0;
        }

        private SSLEngineResult unwrapRecord(ByteBuffer from, ByteBuffer[] to, int offset, int length)
                throws SSLException {
            SSLEngineResult result = engine.unwrap(from, to, offset, length);
            if (result.bytesProduced() == 0 && result.bytesConsumed() > 0) {
                bytes += result.bytesConsumed();
                records++;
                if (bytes > MOST_BYTES || records > MOST_RECORDS) {
                    throw new SSLException("the server sends more than " + MOST_BYTES + " bytes, or " + MOST_RECORDS
                            + " records, beside content");
                }
            }
            return result;
        }

        @Override
        public SSLEngineResult wrap(ByteBuffer[] from, int offset, int length, ByteBuffer to) throws SSLException {
            return engine.wrap(from, offset, length, to);
        }

        @Override
        public @Nullable Runnable getDelegatedTask() {
            return engine.getDelegatedTask();
        }

        @Override
        public void closeInbound() throws SSLException {
            engine.closeInbound();
        }

        @Override
        public boolean isInboundDone() {
            return engine.isInboundDone();
        }

        @Override
        public void closeOutbound() {
            engine.closeOutbound();
        }

        @Override
        public boolean isOutboundDone() {
            return engine.isOutboundDone();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return engine.getSupportedCipherSuites();
        }

        @Override
        public String[] getEnabledCipherSuites() {
            return engine.getEnabledCipherSuites();
        }

        @Override
        public void setEnabledCipherSuites(String[] suites) {
            engine.setEnabledCipherSuites(suites);
        }

        @Override
        public String[] getSupportedProtocols() {
            return engine.getSupportedProtocols();
        }

        @Override
        public String[] getEnabledProtocols() {
            return engine.getEnabledProtocols();
        }

        @Override
        public void setEnabledProtocols(String[] protocols) {
            engine.setEnabledProtocols(protocols);
        }

        @Override
        public SSLSession getSession() {
            return engine.getSession();
        }

        @Override
        public @Nullable SSLSession getHandshakeSession() {
            return engine.getHandshakeSession();
        }

        @Override
        public void beginHandshake() throws SSLException {
            engine.beginHandshake();
        }

        @Override
        public SSLEngineResult.HandshakeStatus getHandshakeStatus() {
            return engine.getHandshakeStatus();
        }

        @Override
        public void setUseClientMode(boolean mode) {
            engine.setUseClientMode(mode);
        }

        @Override
        public boolean getUseClientMode() {
            return engine.getUseClientMode();
        }

        @Override
        public void setNeedClientAuth(boolean need) {
            engine.setNeedClientAuth(need);
        }

        @Override
        public boolean getNeedClientAuth() {
            return engine.getNeedClientAuth();
        }

        @Override
        public void setWantClientAuth(boolean want) {
            engine.setWantClientAuth(want);
        }

        @Override
        public boolean getWantClientAuth() {
            return engine.getWantClientAuth();
        }

        @Override
        public void setEnableSessionCreation(boolean flag) {
            engine.setEnableSessionCreation(flag);
        }

        @Override
        public boolean getEnableSessionCreation() {
            return engine.getEnableSessionCreation();
        }

        @Override
        public SSLParameters getSSLParameters() {
            return engine.getSSLParameters();
        }

        @Override
        public void setSSLParameters(SSLParameters parameters) {
            engine.setSSLParameters(parameters);
        }

        @Override
        public @Nullable String getApplicationProtocol() {
            return engine.getApplicationProtocol();
        }

        @Override
        public @Nullable String getHandshakeApplicationProtocol() {
            return engine.getHandshakeApplicationProtocol();
        }

        @Override
        public void setHandshakeApplicationProtocolSelector(
                @Nullable BiFunction<SSLEngine, List<String>, String> selector) {
            engine.setHandshakeApplicationProtocolSelector(selector);
        }

        @Override
        public @Nullable BiFunction<SSLEngine, List<String>, String> getHandshakeApplicationProtocolSelector() {
            return engine.getHandshakeApplicationProtocolSelector();
        }
    }
}
