package kafka.automq.zerozone;

import kafka.automq.interceptor.ClientIdMetadata;

/** Records nothing. */
class MismatchRecorder {
    static MismatchRecorder instance() {
        return new MismatchRecorder();
    }

    void record(String topic, ClientIdMetadata clientId) { }
}
